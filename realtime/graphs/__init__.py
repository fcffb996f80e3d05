"""The per-frame path as ONNX graphs of our own, around the networks: one upload of a frame, one launch, one small download.

`detect.detect`, `follow.follow` and `follow.follow_swap` make the models; the other modules hold the pieces. Each piece takes a `Graph` and
values in it and gives values back, so that a new path is a few lines. Nothing here runs a model or touches a file but to read it.
"""
