"""Backend `native`: the C kernel and its binding."""

from simsched.engine.native._kernel import NativeBackend, build_config, version

__all__ = ["NativeBackend", "build_config", "version"]
