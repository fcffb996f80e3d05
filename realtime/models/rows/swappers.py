"""Networks that swap, and what turns an embedding into what they take.

`found` names the public place that an address or a SHA-256 was read in. None of these files was at hand when the rows were written.
"""

from __future__ import annotations

from realtime.models.row import Model

_RELEASES = "https://github.com/facefusion/facefusion-assets/releases/download"
_ADDRESS = "address: facefusion/facefusion, face_swapper.py"
_PINNED = f"{_ADDRESS}; SHA-256: the model hub's own digest as public programs pin it"
_UNPINNED = f"{_ADDRESS}; no SHA-256 published, only a CRC-32"
_INSIGHTFACE = "InsightFace (Jia Guo, Jiankang Deng)"
_COMMERCIAL = "commercial use"
_RESEARCH_ONLY = "every use but non-commercial research"


def _swapper(
    name: str,
    release: str,
    licence: str,
    origin: str,
    sha256: str = "",
    size: int = 0,
    forbids: str = "",
    contract: str = "",
    **more: object,
) -> Model:
    return Model(
        name=name,
        role="swapper",
        licence=licence,
        origin=origin,
        sha256=sha256,
        bytes=size,
        address=f"{_RELEASES}/models-{release}/{name}.onnx",
        forbids=forbids,
        contract=contract,
        found=_PINNED if sha256 else _UNPINNED,
        verified=False,
        **more,  # type: ignore[arg-type]
    )


def _converter(name: str, licence: str, forbids: str, sha256: str = "") -> Model:
    return Model(
        name=name,
        role="converter",
        licence=licence,
        origin="FaceFusion (Henry Ruhs)",
        sha256=sha256,
        bytes=22_083_800,
        address=f"{_RELEASES}/models-3.4.0/{name}.onnx",
        forbids=forbids,
        contract="embedding",
        found=_PINNED if sha256 else _UNPINNED,
        verified=False,
    )


ROWS: tuple[Model, ...] = (
    _swapper("inswapper_128", "3.0.0", "non-commercial", _INSIGHTFACE,
             "a290273ed497312095dac48cdef20feec9d5208298223dd01288ab202b54bea7", 555_303_150, _RESEARCH_ONLY, "inswapper",
             also=("e4a3f08c753cb72d04e10aa0f7dbe3deebbf39567d4ead6dce08e98aa49e16af",)),
    _swapper("inswapper_128_fp16", "3.0.0", "non-commercial", _INSIGHTFACE,
             "c4eccca86ad177586c85c28bf1a64a9d9ed237e283a15818d831f7facfd3f420", 277_680_829, _RESEARCH_ONLY, "inswapper",
             precision="fp16"),
    _swapper("hyperswap_1a_256", "3.3.0", "ResearchRAIL", "FaceFusion (Henry Ruhs)",
             "c0e98a8a03a238f461ed3d2570e426b49f46745ee400854a60dceeb70c246add", 402_742_682, "every use but research", "hyperswap"),
    _swapper("hyperswap_1b_256", "3.3.0", "ResearchRAIL", "FaceFusion (Henry Ruhs)",
             "5124031789c42f71b9558fb71954ef7aedb6da7ed9fac79293e23c61a792a73e", 402_742_682, "every use but research", "hyperswap"),
    _swapper("hyperswap_1c_256", "3.3.0", "ResearchRAIL", "FaceFusion (Henry Ruhs)",
             "5528c2d76fe9986c99d829278987ef9f3a630cb606db7628d02b57b330f406a5", 402_742_682, "every use but research", "hyperswap"),
    _swapper("ghost_1_256", "3.0.0", "Apache-2.0", "GHOST (ai-forever)", contract="ghost"),
    _swapper("ghost_2_256", "3.0.0", "Apache-2.0", "GHOST (ai-forever)", contract="ghost"),
    _swapper("ghost_3_256", "3.0.0", "Apache-2.0", "GHOST (ai-forever)", contract="ghost"),
    _swapper("simswap_256", "3.0.0", "CC-BY-NC-4.0", "SimSwap (Renwang Chen and others)", forbids=_COMMERCIAL, contract="simswap"),
    _swapper("simswap_unofficial_512", "3.0.0", "CC-BY-NC-4.0", "SimSwap (Renwang Chen and others)",
             "fe805d1ce7d9e66322e2a8811f593a821e7d92f9ff861dd233794bdb2bb7a586", 239_249_034, _COMMERCIAL, "simswap_512"),
    _swapper("hififace_unofficial_256", "3.1.0", "unknown", "HifiFace, unofficial (GuijiAI)",
             "9de9751617976195114d7f067b9b6cf933748363355cf473cab2da57a739c2ef", 203_784_742,
             "whatever its author has not permitted: nothing was said", "hififace"),
    _swapper("uniface_256", "3.0.0", "unknown", "UniFace (Chao Xu and others)",
             "eb5ce2af024cddf88ecb93b24e29a6eb44e354aba7d3319e84d29dcd868820f3", 406_964_143,
             "whatever its author has not permitted: nothing was said", "uniface"),
    _swapper("blendswap_256", "3.0.0", "non-commercial", "BlendFace (Kaede Shiohara)", forbids=_COMMERCIAL, contract="blendswap"),
    _converter("crossface_ghost", "Apache-2.0", ""),
    _converter("crossface_simswap", "CC-BY-NC-4.0", _COMMERCIAL, "6452a261ec30cc30afdbe4a426d82c3b10a476f2df794e3494071c02574e6829"),
    _converter("crossface_hififace", "unknown", "whatever its author has not permitted: nothing was said",
               "dfb75f960cb8ef1967a82838e64963b9ff621c4af3e22f9fda48ad958dddec9a"),
)  # fmt: skip
