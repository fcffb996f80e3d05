"""Networks that restore a face or enlarge a frame.

`found` names the public place that an address or a SHA-256 was read in. None of these files was at hand when the rows were written.
"""

from __future__ import annotations

from realtime.models.row import Model

_RELEASES = "https://github.com/facefusion/facefusion-assets/releases/download/models-3.0.0"
_PINNED = "address: facefusion/facefusion, face_enhancer.py; SHA-256: the model hub's own digest as public programs pin it"
_EXPORTS = "https://huggingface.co/SceneWorks/real-esrgan-onnx/resolve/09f741bac80a246b407da3ee902bf5f3291b602f"


def _face(name: str, licence: str, origin: str, sha256: str, size: int, contract: str, forbids: str = "") -> Model:
    return Model(
        name=name,
        role="enhancer",
        licence=licence,
        origin=origin,
        sha256=sha256,
        bytes=size,
        address=f"{_RELEASES}/{name}.onnx",
        forbids=forbids,
        contract=contract,
        found=_PINNED,
        verified=False,
    )


def _frame(factor: int, sha256: str, size: int) -> Model:
    return Model(
        name=f"real_esrgan_x{factor}",
        role="enhancer",
        licence="BSD-3-Clause",
        origin="Real-ESRGAN (Xintao Wang and others), exported by SceneWorks",
        sha256=sha256,
        bytes=size,
        address=f"{_EXPORTS}/real_esrgan_x{factor}.onnx",
        converter="onnx",
        input_size=256,  # its sides are open, and tiles have one size
        contract="frame",
        found="address and SHA-256: public programs that pin SceneWorks/real-esrgan-onnx",
        verified=False,
    )


ROWS: tuple[Model, ...] = (
    _face("gfpgan_1.4", "Apache-2.0", "GFPGAN 1.4 (Tencent ARC), trained on FFHQ, whose pictures are for non-commercial use",
          "accc4757b26bdb89b32b4d3500d4f79c9dff97c1dd7c7104bf9dcb95e3311385", 340_299_087, "ffhq_512"),
    _face("codeformer", "S-Lab-1.0", "CodeFormer (Shangchen Zhou and others)",
          "21710e7ab61c82683576c428e9c1b6fe1ed419586b7b39e394c3449c294b550f", 376_951_650, "ffhq_512", "commercial use"),
    _face("gpen_bfr_256", "non-commercial", "GPEN (Tao Yang and others)",
          "bad8bf0426873828df2dbf4e3b3d9ababba9da7965b8b72426569486f7ae5c25", 75_792_988, "arcface_128", "commercial use"),
    _face("gpen_bfr_512", "non-commercial", "GPEN (Tao Yang and others)",
          "d5f066b9068a8b74217f9712e28e875a6144629b108a6f7355acbdb3a2832c54", 284_340_240, "ffhq_512", "commercial use"),
    _face("restoreformer_plus_plus", "Apache-2.0", "RestoreFormer++ (Zhouxia Wang and others)",
          "f4db5a89902b6a2d452446f5721245a6f7185f699b6aec7b77285adb4d504337", 0, "ffhq_512"),
    _frame(2, "7115ba92e8a1bfa63d68558ef006ef3d91273a068d321b1439f8bb1c9179002c", 0),
    _frame(4, "5c586662929cbc686c1a5c38d9c060dbdb4ea5863a1f7672b8c0761e6b89c033", 67_051_616),
)  # fmt: skip
