"""Networks that say what of a face is to be swapped.

`found` names the public place that an address or a SHA-256 was read in. Of the files that do not come from a wheel only our own was at hand
when the rows were written.
"""

from __future__ import annotations

from realtime.models.row import Model
from realtime.models.rows.defaults import MEDIAPIPE

_RELEASES = "https://github.com/facefusion/facefusion-assets/releases/download"
_PINNED = "address: facefusion/facefusion, face_masker.py; SHA-256: the model hub's own digest as public programs pin it"
_COPYLEFT = "passing it on under other terms"


def _xseg(number: int, release: str, sha256: str, size: int) -> Model:
    return Model(
        name=f"xseg_{number}",
        role="segmenter",
        licence="GPL-3.0",
        origin="DeepFaceLab XSeg (iperov)",
        sha256=sha256,
        bytes=size,
        address=f"{_RELEASES}/models-{release}/xseg_{number}.onnx",
        forbids=_COPYLEFT,
        contract="occlusion",
        found=_PINNED,
        verified=False,
    )


def _bisenet(depth: int, release: str, sha256: str, size: int) -> Model:
    return Model(
        name=f"bisenet_resnet_{depth}",
        role="segmenter",
        licence="MIT",
        origin="BiSeNet face parsing (Yakhyokhuja Valikhujaev), trained on CelebAMask-HQ, whose pictures are for non-commercial research",
        sha256=sha256,
        bytes=size,
        address=f"{_RELEASES}/models-{release}/bisenet_resnet_{depth}.onnx",
        contract="regions",
        found=_PINNED,
        verified=False,
    )


def _hands(name: str, path: str, sha256: str, size: int) -> Model:
    return Model(
        name=name,
        role="segmenter",
        wheel=MEDIAPIPE,
        member=f"mediapipe/modules/{path}.tflite",
        sha256=sha256,
        bytes=size,
        converter="tflite",
        licence="Apache-2.0",
        origin="MediaPipe Hands, Google",
        contract=path.split("/")[0],
    )


ROWS: tuple[Model, ...] = (
    _hands("palm", "palm_detection/palm_detection_lite", "e9a4aaddf90dda56a87235303cf00e4c2d3fb28725f68fd88772997dac905c18", 1_985_440),
    _hands("hand", "hand_landmark/hand_landmark_lite", "048edd3645c9bf7397d19a9f6e3a42957d6e414c9bea6598030a2e9b624156e6", 2_071_597),
    Model(
        name="occluder",
        role="segmenter",
        sha256="8fe4f04f7f9e257e87f71504cb6731d3ea4163b63ad225a314d5dbfe265674f1",
        bytes=1_693_809,
        licence="MIT",
        origin="experimental, trained by this program's authors on portraits of synthetic people and of public servants",
        contract="occluder",
        found="the file itself, which is published nowhere: it did not make the swap better on every clip",
    ),
    _xseg(1, "3.1.0", "c4d1498b8a03b5fe2a3a5d2ef2a0402ab03bd51edaf5b2d8d5fb764702a97dd3", 70_324_286),
    _xseg(2, "3.1.0", "cd9a0879eaf43841d765472cf1f8c330dbf9dcb03da0eace93e95f3bcc399042", 70_324_286),
    _xseg(3, "3.2.0", "48ccd7e8541e159a5a754ec9e62df2f12065f7df8f9af842c1750342c6533559", 70_327_709),
    _bisenet(18, "3.1.0", "2218b6183c26ca5c83303232d682a536c670c13ea9695f716c777d1f244eefe9", 53_205_356),
    _bisenet(34, "3.0.0", "4a0b8c958a3c938913bd06a8365dbb3c8761afba6ecbf0d14b3b1f77eb230c96", 93_632_546),
)
