"""What ONNX Runtime's products of bytes cannot hold on some processors.

Without VNNI, x86 multiplies unsigned bytes by signed ones in pairs whose sums of 16 bits saturate (vpmaddubsw), and
ONNX Runtime leaves it at that: onnxruntime.quantization advises `reduce_range` there. Weights of 7 bits fit.
"""
import pathlib
import platform


def products_saturate():
    try:
        flags = set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False
    return platform.machine() == "x86_64" and not flags & {"avx512_vnni", "avx_vnni"}
