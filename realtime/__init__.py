"""Real-time face swap: a camera in, a virtual camera out, the main face replaced by that of a source photo."""

__version__ = "0.1.0"
