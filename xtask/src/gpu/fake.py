"""A driver without a GPU, which replaces cuda.bindings.driver.

Device memory is memory of this process. A launch reads the case that FAKE_CASES names, checks that the launch, the
arguments and the inputs are those of the case, and writes the buffers that the case expects. FAKE_DO changes that:
"wrong" flips a bit, "fault" leaves an error like a fault on a GPU, "crash" ends the process, "hang" never ends.
"""

import ctypes
import enum
import json
import os
import time


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class CUdevice_attribute(enum.IntEnum):
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


class CUfunction_attribute(enum.IntEnum):
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class CUlimit(enum.IntEnum):
    CU_LIMIT_STACK_SIZE = 0


class CUlaunchAttributeID(enum.IntEnum):
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4


class Dim:
    x = y = z = 0


class CUlaunchAttributeValue:
    def __init__(self):
        self.clusterDim = Dim()
        self.cooperative = 0


class CUlaunchAttribute:
    def __init__(self):
        self.id = None
        self.value = CUlaunchAttributeValue()


class CUlaunchConfig:
    pass


OK = CUresult.CUDA_SUCCESS
memory = {}
state = {"error": OK, "smem": 48 * 1024}


def case():
    with open(os.environ["FAKE_CASES"]) as file:
        return json.load(file)


def content(text):
    return bytes.fromhex(text["hex"]) if "hex" in text else bytes(text["zeros"])


def cuInit(flags):
    return (OK,)


def cuDriverGetVersion():
    return OK, 13000


def cuDeviceGet(ordinal):
    return OK, 0


def cuDeviceGetName(length, device):
    return OK, b"a GPU that is none".ljust(length, b"\0")


def cuDeviceGetAttribute(attribute, device):
    major, minor = os.environ.get("FAKE_CAPABILITY", "9.0").split(".")
    is_major = attribute is CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    return OK, int(major if is_major else minor)


def cuDevicePrimaryCtxRetain(device):
    return OK, "context"


def cuCtxSetCurrent(context):
    return (OK,)


def cuCtxSetLimit(limit, value):
    assert limit is CUlimit.CU_LIMIT_STACK_SIZE
    return (OK,)


def cuCtxSynchronize():
    return (state["error"],)


def cuModuleLoadData(image):
    # An ELF file of NVIDIA's machine.
    return (OK, image) if image[:4] == b"\x7fELF" and image[18] == 190 else (CUresult.CUDA_ERROR_INVALID_VALUE, None)


def cuModuleGetFunction(module, name):
    return (OK, name) if b".text." + name + b"\0" in module else (CUresult.CUDA_ERROR_NOT_FOUND, None)


def cuModuleUnload(module):
    return (state["error"],)


def cuFuncSetAttribute(function, attribute, value):
    assert attribute is CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    state["smem"] = value
    return (OK,)


def cuMemAlloc(size):
    block = (ctypes.c_char * size)()
    memory[ctypes.addressof(block)] = block
    return OK, ctypes.addressof(block)


def cuMemFree(address):
    del memory[address]
    return (state["error"],)


def cuMemcpyHtoD(to, data, size):
    assert len(memory[to]) == size == len(data)
    memory[to].raw = data
    return (state["error"],)


def cuMemcpyDtoH(data, of, size):
    data[:] = memory[of].raw
    return (state["error"],)


def cuEventCreate(flags):
    return OK, [0.0]


def cuEventRecord(event, stream):
    event[0] = time.perf_counter()
    return (OK,)


def cuEventSynchronize(event):
    return (state["error"],)


def cuEventDestroy(event):
    return (OK,)


def cuEventElapsedTime(start, end):
    return OK, 1000 * (end[0] - start[0])


def cuGetErrorString(error):
    return OK, error.name.encode()


def cuLaunchKernel(function, gx, gy, gz, bx, by, bz, smem, stream, params, extra):
    expected = case()
    assert "cluster" not in expected and "cooperative" not in expected
    return launch(expected, function, [gx, gy, gz], [bx, by, bz], smem, params)


def cuLaunchKernelEx(config, function, params, extra):
    expected = case()
    attributes = {attribute.id: attribute.value for attribute in config.attrs}
    assert len(attributes) == config.numAttrs
    cluster = attributes.get(CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
    cluster = cluster and [cluster.clusterDim.x, cluster.clusterDim.y, cluster.clusterDim.z]
    assert cluster == expected.get("cluster")
    cooperative = attributes.get(CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
    assert bool(cooperative and cooperative.cooperative) == expected.get("cooperative", False)
    grid = [config.gridDimX, config.gridDimY, config.gridDimZ]
    block = [config.blockDimX, config.blockDimY, config.blockDimZ]
    return launch(expected, function, grid, block, config.sharedMemBytes, params)


def launch(expected, function, grid, block, smem, params):
    do = os.environ.get("FAKE_DO")
    if do == "crash":
        os.abort()
    if do == "hang":
        time.sleep(3600)
    if do == "fault":
        state["error"] = CUresult.CUDA_ERROR_ILLEGAL_ADDRESS
    assert function.decode() == expected["entry"] and grid == expected["grid"] and block == expected["block"]
    assert smem == expected.get("dynamic_smem", 0) and smem <= state["smem"]
    sizes = {"8": 1, "16": 2, "32": 4, "64": 8}
    pointers = (ctypes.c_void_p * len(expected["args"])).from_address(params)
    for pointer, arg in zip(pointers, expected["args"]):
        if arg["kind"] == "scalar":
            size = sizes[arg["elem"].lstrip("bfsu")]
            given = ctypes.string_at(pointer, size)
            if arg["elem"] == "f32":
                value = bytes(ctypes.c_float(arg["value"]))
            elif arg["elem"] == "f64":
                value = bytes(ctypes.c_double(arg["value"]))
            else:
                value = (int(arg["value"]) % (1 << 8 * size)).to_bytes(size, "little")
            assert given == value, (arg, given)
        else:
            address = int.from_bytes(ctypes.string_at(pointer, 8), "little")
            init = content(arg["init"])
            assert memory[address].raw[: len(init)] == init, arg["name"]
            if arg.get("expect") is not None:
                after = bytearray(content(arg["expect"]))
                if do == "wrong" and after != init:
                    after[0] ^= 1
                memory[address].raw = bytes(after)
    return (OK,)
