"""Detectors, landmarkers and recognisers beyond the default ones.

`found` names the public place that an address or a SHA-256 was read in. None of these files was at hand when the rows were written.
"""

from __future__ import annotations

from realtime.models.row import Model

_PACKS = "https://github.com/deepinsight/insightface/releases/download/v0.7"
_FACEFUSION = "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0"
_UNIFACE = "https://github.com/yakhyo/uniface/releases/download/weights"
_IN_UNIFACE = "address and SHA-256: yakhyo/uniface, uniface/constants.py"
_IN_PACK = "address: deepinsight/insightface, release v0.7; SHA-256: yakhyo/uniface, uniface/constants.py"
_PINNED = "address: facefusion/facefusion; SHA-256: the model hub's own digest as public programs pin it"
_INSIGHTFACE = "InsightFace (Jia Guo, Jiankang Deng)"
_RESEARCH_ONLY = "every use but non-commercial research"


def _insightface(
    name: str, role: str, pack: str, member: str, sha256: str, size: int = 0, contract: str = "", also: tuple[str, ...] = ()
) -> Model:
    return Model(
        name=name,
        role=role,
        licence="non-commercial",
        origin=_INSIGHTFACE,
        sha256=sha256,
        bytes=size,
        address=f"{_PACKS}/{pack}.zip",
        member=member,
        forbids=_RESEARCH_ONLY,
        contract=contract,
        found=_IN_PACK,
        verified=False,
        also=also,
    )


ROWS: tuple[Model, ...] = (
    _insightface("scrfd_10g", "detector", "buffalo_l", "det_10g.onnx",
                 "5838f7fe053675b1c7a08b633df49e7af5495cee0493c7dcf6697200b85b5b91", 16_923_827, "scrfd"),
    Model(
        name="scrfd_2.5g",
        role="detector",
        licence="non-commercial",
        origin=_INSIGHTFACE,
        sha256="bc24bb349491481c3ca793cf89306723162c280cb284c5a5e49df3760bf5c2ce",
        address="https://github.com/visomaster/visomaster-assets/releases/download/v0.1.0/scrfd_2.5g_bnkps.onnx",
        forbids=_RESEARCH_ONLY,
        contract="scrfd",
        found="address and SHA-256: visomaster/VisoMaster, app/processors/models_data.py",
        verified=False,
    ),
    _insightface("scrfd_500m", "detector", "buffalo_sc", "det_500m.onnx",
                 "5e4447f50245bbd7966bd6c0fa52938c61474a04ec7def48753668a9d8b4ea3a", contract="scrfd"),
    Model(
        name="retinaface_mnet025",
        role="detector",
        licence="MIT",
        origin="RetinaFace MobileNet 0.25 (Yakhyokhuja Valikhujaev)",
        sha256="b7a7acab55e104dce6f32cdfff929bd83946da5cd869b9e2e9bdffafd1b7e4a5",
        address=f"{_UNIFACE}/retinaface_mv1_0.25.onnx",
        contract="retinaface",
        found=_IN_UNIFACE,
        verified=False,
    ),
    Model(
        name="retinaface_r50",
        role="detector",
        licence="MIT",
        origin="RetinaFace ResNet-50 (biubug6)",
        sha256="ea3f7d12894980d52d3fd7f3f5cab463d48e9cfbcc06f40616bdeeab3e3f31d1",
        bytes=109_110_500,
        address="https://huggingface.co/nakamura196/retinaface-r50-onnx/resolve/main/retinaface_r50.onnx",
        contract="retinaface",
        found="address and SHA-256: a public program's list, with the model hub's own digest",
        verified=False,
    ),
    Model(
        name="yoloface_8n",
        role="detector",
        licence="GPL-3.0",
        origin="YOLO-face v8n (derronqi)",
        sha256="821cdbb1e65fbbabdde7dd0933f754797a343e56fd962729c61ffcefcd135929",
        bytes=12_659_761,
        address=f"{_FACEFUSION}/yoloface_8n.onnx",
        forbids="passing it on under other terms",
        contract="yolo",
        found=_PINNED,
        verified=False,
    ),
    Model(
        name="yolov8n_face",
        role="detector",
        licence="GPL-3.0",
        origin="YOLOv8n-face (derronqi), as it leaves its grids",
        sha256="33f3951af7fc0c4d9b321b29cdcd8c9a59d0a29a8d4bdc01fcb5507d5c714809",
        address="https://github.com/yakhyo/yolov8-face-onnx-inference/releases/download/weights/yolov8n-face.onnx",
        forbids="passing it on under other terms",
        contract="yolo",
        found=_IN_UNIFACE,
        verified=False,
    ),
    Model(
        name="yolov5n_face",
        role="detector",
        licence="GPL-3.0",
        origin="YOLOv5n-face (deepcam-cn)",
        sha256="eb244a06e36999db732b317c2b30fa113cd6cfc1a397eaf738f2d6f33c01f640",
        address="https://github.com/yakhyo/yolov5-face-onnx-inference/releases/download/weights/yolov5n_face.onnx",
        forbids="passing it on under other terms",
        contract="yolo",
        found=_IN_UNIFACE,
        verified=False,
    ),
    _insightface("1k3d68", "landmarker", "buffalo_l", "1k3d68.onnx",
                 "df5c06b8a0c12e422b2ed8947b8869faa4105387f199c477af038aa01f9a45cc", contract="1k3d68"),
    _insightface("2d106", "landmarker", "buffalo_l", "2d106det.onnx",
                 "f001b856447c413801ef5c42091ed0cd516fcd21f2d6b79635b1e733a7109dbf", contract="2d106"),
    Model(
        name="2dfan4",
        role="landmarker",
        licence="BSD-3-Clause",
        origin="2D-FAN-4, 68 points (Adrian Bulat)",
        sha256="678c6fa539d52335a31c980feefdf4a6e02d781d83dce00af8a894f114557285",
        bytes=97_904_803,
        address=f"{_FACEFUSION}/2dfan4.onnx",
        contract="2dfan4",
        found=_PINNED,
        verified=False,
    ),
    _insightface("w600k_r50", "recogniser", "buffalo_l", "w600k_r50.onnx",
                 "4c06341c33c2ca1f86781dab0e829f88ad5b64be9fba56e56bc9ebdefc619e43", contract="arcface",
                 also=("f1f79dc3b0b79a69f94799af1fffebff09fbd78fd96a275fd8f0cbbea23270d1",)),
    _insightface("w600k_mbf", "recogniser", "buffalo_sc", "w600k_mbf.onnx",
                 "9cc6e4a75f0e2bf0b1aed94578f144d15175f357bdc05e815e5c4a02b319eb4f", 13_616_099, "arcface"),
)  # fmt: skip
