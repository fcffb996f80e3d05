"""What engines are built for. One module each; `TARGETS` of `base` names them."""
