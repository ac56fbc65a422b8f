#!/usr/bin/env python3
"""wheel.py BUILD OUT [--here]: a wheel with `tune`, the library, the drop-in and Python's package, from a build folder (target
`wheel`).

    cmake --preset portable && cmake --build --preset portable --target wheel
    pip install build/portable/gemmtune-0.2.0-py3-none-manylinux_2_34_x86_64.whl

pip puts them where `cmake --install` would: bin/tune, lib/, include/ and share/ of the environment, and runtime/python/gemmtune in its
site-packages. gemmtune[cuda] brings NVIDIA's wheels of NVRTC and cuBLAS. Programs must need nothing but the C library and name no
folder of this machine, as those of the preset portable do; --here: a wheel for this machine, whatever they need. The tag names the
newest C library whose symbols a file needs.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
C_LIBRARY = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so")


def needs(file):
    """Libraries that the file needs beside the C library's, and the newest glibc that its symbols name."""
    text = subprocess.run(["readelf", "-dVW", str(file)], check=True, capture_output=True, text=True).stdout
    libraries = [n for n in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if not C_LIBRARY.match(n)]
    return libraries, max((int(v) for v in re.findall(r"GLIBC_2\.(\d+)", text)), default=17)


def named_in(file, build):
    """Folders of this machine that the file names, where it would look on another one."""
    content = file.read_bytes()
    return [str(folder) for folder in (SOURCE, build.resolve()) if str(folder).encode() in content]


def pages_of(build):
    """(name, file): man pages and completions, as cmake/installing.cmake and the folders' CMakeLists.txt install them."""
    for pages in (build / "tuner").glob("*.1"), (build / "runtime").glob("*.3"), (build / "documents").glob("*.7"):
        for page in sorted(pages):
            yield f"share/man/man{page.suffix[1:]}/{page.name}", page
    completion = SOURCE / "tools/completion"
    yield "share/bash-completion/completions/tune", completion / "tune.bash"
    yield "share/zsh/site-functions/_tune", completion / "_tune"
    yield "share/fish/vendor_completions.d/tune.fish", completion / "tune.fish"


def files_of(build, version):
    """(name below the environment's folder, file): what is installed there."""
    soname = ".".join(version.split(".")[:2])
    yield "lib/libgemmtune.so." + soname, build / f"runtime/libgemmtune.so.{version}"
    for name in ("libgemmtune_cublas.so", "libgemmtune_cublas_engine.so"):
        yield f"lib/{name}", build / "runtime/dropin" / name
    yield "include/gemmtune.h", SOURCE / "runtime/gemmtune.h"
    for file in sorted((SOURCE / "configs").rglob("*")):
        if file.is_file():
            yield f"share/gemmtune/{file.relative_to(SOURCE)}", file
    for file in sorted((build / "configs/winners").glob("code-*.sqlite")):
        yield f"share/gemmtune/configs/winners/{file.name}", file
    yield from pages_of(build)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--here", action="store_true")
    options = parser.parse_args()
    version = re.search(r"project\(gemmtune VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    tune = options.build / "tune"
    installed = list(files_of(options.build, version))
    package = sorted(f for f in (SOURCE / "runtime/python/gemmtune").iterdir() if f.suffix in (".py", ".pyi") or f.name == "py.typed")
    package += (options.build / "runtime/python").glob("_fast.abi3.so")  # by the stable ABI of Python 3.10 and later; others do without
    glibc = 17
    for file in [tune] + [f for n, f in installed if n.startswith("lib/")] + [f for f in package if f.suffix == ".so"]:
        others, newest = needs(file)
        glibc = max(glibc, newest)
        if others and not options.here:
            sys.exit(f"{file.name} needs {', '.join(others)}: use the preset portable, or --here")
        if named_in(file, options.build) and not options.here:
            sys.exit(f"{file.name} would look in {named_in(file, options.build)[0]}: use the preset portable, or --here")
    machine = subprocess.run(["uname", "-m"], check=True, capture_output=True, text=True).stdout.strip()
    tag = f"py3-none-linux_{machine}" if options.here else f"py3-none-manylinux_2_{glibc}_{machine}"
    info, data = f"gemmtune-{version}.dist-info", f"gemmtune-{version}.data"
    summary = "A GEMM autotuner: tune, its library, and a drop-in for cuBLAS"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: gemmtune\nVersion: {version}\nSummary: {summary}\nLicense: MIT\n"
        "License-File: LICENSE\nLicense-File: NOTICES\nRequires-Python: >=3.8\nProvides-Extra: cuda\n"
        "Requires-Dist: nvidia-cuda-nvrtc >=13 ; extra == 'cuda'\nRequires-Dist: nvidia-cublas >=13 ; extra == 'cuda'\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: tools/wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n",
        "LICENSE": (SOURCE / "LICENSE").read_text(),
        "NOTICES": (SOURCE / "NOTICES").read_text(),
    }
    members = [(f"{data}/scripts/tune", tune.read_bytes(), 0o755)]
    members += [(f"{data}/data/{name}", file.read_bytes(), 0o755 if ".so" in name else 0o644) for name, file in installed]
    members += [(f"gemmtune/{file.name}", file.read_bytes(), 0o644) for file in package]
    linker = f"INPUT(libgemmtune.so.{'.'.join(version.split('.')[:2])})\n"  # what -lgemmtune finds: a wheel has no links
    members.append((f"{data}/data/lib/libgemmtune.so", linker.encode(), 0o644))
    members += [(f"{info}/{name}", text.encode(), 0o644) for name, text in texts.items()]
    record = ""
    options.out.mkdir(parents=True, exist_ok=True)
    wheel = options.out / f"gemmtune-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members + [(f"{info}/RECORD", None, 0o644)]:
            if content is None:
                content = f"{record}{name},,\n".encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.external_attr = (0o100000 | mode) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    print(wheel)


if __name__ == "__main__":
    main()
