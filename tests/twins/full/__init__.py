"""Networks of the published size: as many weights, random ones, and as many multiply-adds, in the layout that was published.

They answer how long a network takes, and nothing else: no number in them comes from a trained network. Each module says where the layouts
are from. What a public source says of a network's size stands beside it, and the tests hold what is built against that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.twins.full import detectors, enhancers, masks, recognisers, stylegan, swappers
from tests.twins.full.net import Net


@dataclass(frozen=True)
class Network:
    role: str
    build: Callable[[Net, str], None]
    weights: float = 0.0
    """Millions of numbers in the published file, by its size (a quarter of its bytes) or as its authors say; 0: neither is known."""
    products: float = 0.0
    """Billions of multiply-adds as published; 0: not known."""
    estimated: bool = False
    """The layout is not published: as many weights in the manner of its kind."""


NETWORKS = {
    "inswapper_128": Network("swappers", swappers.residual, 138.4, 175),
    "hyperswap_1a_256": Network("swappers", swappers.residual, 100.7, estimated=True),
    "ghost_1_256": Network("swappers", swappers.ghost, 128.7),
    "ghost_2_256": Network("swappers", swappers.ghost, 184.8),
    "ghost_3_256": Network("swappers", swappers.ghost, 214),
    "simswap_256": Network("swappers", swappers.residual, 55.0),
    "simswap_unofficial_512": Network("swappers", swappers.residual, 59.8),
    "hififace_unofficial_256": Network("swappers", swappers.residual, 50.9, estimated=True),
    "uniface_256": Network("swappers", swappers.residual, 101.7, estimated=True),
    "blendswap_256": Network("swappers", swappers.blendswap, 415),
    "dfm_saehd_224": Network("swappers", swappers.dfm),
    "latent_encoder": Network("swappers", stylegan.encoder),
    "latent_generator": Network("swappers", stylegan.generator, products=74.3),
    "scrfd_10g": Network("detectors", detectors.scrfd, 4.23),
    "scrfd_2.5g": Network("detectors", detectors.scrfd, 0.82),
    "scrfd_500m": Network("detectors", detectors.scrfd_500m, 0.57),
    "retinaface_mnet025": Network("detectors", detectors.retinaface_mobile, 0.43),
    "retinaface_r50": Network("detectors", detectors.retinaface_resnet, 27.3),
    "yoloface_8n": Network("detectors", detectors.yolo8, 3.16),
    "yolov8n_face": Network("detectors", detectors.yolo8, 3.16),
    "yolov5n_face": Network("detectors", detectors.yolo5, 1.73, 2.81),
    "2d106": Network("landmarks", recognisers.landmarks_106, 1.26, estimated=True),
    "1k3d68": Network("landmarks", recognisers.landmarks_68, 35.9, estimated=True),
    "2dfan4": Network("landmarks", recognisers.fan, 24.5),
    "w600k_r50": Network("recognisers", recognisers.w600k_r50, 43.6, 6.3),
    "w600k_mbf": Network("recognisers", recognisers.w600k_mbf, products=0.45),
    "occluder": Network("masks", masks.occluder, 0.422, 0.081),
    "xseg": Network("masks", masks.xseg, 17.6),
    "bisenet_resnet_18": Network("masks", masks.bisenet, 13.3),
    "bisenet_resnet_34": Network("masks", masks.bisenet, 23.4),
    "gfpgan_1.4": Network("enhancers", stylegan.gfpgan, 85.1),
    "codeformer": Network("enhancers", enhancers.codeformer, 94.2),
    "gpen_bfr_256": Network("enhancers", stylegan.gpen, 18.9),
    "gpen_bfr_512": Network("enhancers", stylegan.gpen, 71.1),
    "restoreformer_plus_plus": Network("enhancers", enhancers.restoreformer, 73.6),
    "real_esrgan_x2": Network("enhancers", enhancers.esrgan, 16.7),
    "real_esrgan_x4": Network("enhancers", enhancers.esrgan, 16.7),
}


def counted(name: str) -> Net:
    """What the network consists of, without its weights."""
    return _built(name, Net(counting=True))


def full_twin(name: str, path: Path, share: float = 1.0) -> None:
    """Write the network. `share` of the published widths, for a quick look."""
    _built(name, Net(share)).save(path)


def _built(name: str, net: Net) -> Net:
    NETWORKS[name].build(net, name)
    return net
