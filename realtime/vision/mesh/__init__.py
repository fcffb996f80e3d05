"""The textured face mesh: pose, light, occlusion, colour, rasterising and painting, all on plain arrays.

Vertices are the 468 points of the MediaPipe face mesh. Canonical coordinates are roughly centimetres: x to the image's right,
y up, z towards the camera; "left" and "right" in names are the subject's own.
"""
