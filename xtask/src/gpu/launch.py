"""Launches kernels on a GPU, one after another, and reports which GPU is present.

In, on standard input: a JSON object per line. {} asks for the GPU. A launch is:

    {"cubin": FILE, "entry": NAME, "grid": [x, y, z], "block": [x, y, z], "cluster": null or [x, y, z],
     "cooperative": false, "smem": BYTES, "runs": N,
     "args": [{"kind": "scalar" or "buffer", "hex": BYTES}, ...]}

Out, on standard output: a JSON line for each. {"device", "capability": [major, minor], "driver", "by"}, or
{"buffers": [HEX, ...], "times": [MILLISECONDS, ...]}: the buffers after the first launch, and the time of each. Each
launch begins with the same content of all buffers. {"error": TEXT} if something fails; the program then ends, because
the driver refuses everything after a fault of a kernel.

Everything goes through the CUDA driver: with cuda-bindings, or else with ctypes on libcuda in the context of PyTorch or CuPy.
"""

import ctypes
import json
import sys

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76
LAUNCH_ATTRIBUTE_COOPERATIVE = 2
LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4
STATIC_LIMIT = 48 * 1024
LIMIT_STACK_SIZE = 0
# The driver's default of 1 KiB is too little for functions that call themselves, and an overflow is no error.
STACK_BYTES = 16 * 1024


class Failure(Exception):
    pass


class AttributeValue(ctypes.Union):
    _fields_ = [("dim", ctypes.c_uint * 3), ("number", ctypes.c_int), ("pad", ctypes.c_char * 64)]


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", AttributeValue)]


class Config(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("smem", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attrs", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    ]


class LibCuda:
    """The driver through ctypes. As in cuda-bindings, functions return a tuple of the result and the values."""

    def __init__(self):
        self.lib = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")

    def _out(self, kind, name, *args):
        value = kind()
        return getattr(self.lib, name)(ctypes.byref(value), *args), value.value

    def cuInit(self, flags):
        return (self.lib.cuInit(flags),)

    def cuDriverGetVersion(self):
        return self._out(ctypes.c_int, "cuDriverGetVersion")

    def cuDeviceGet(self, ordinal):
        return self._out(ctypes.c_int, "cuDeviceGet", ordinal)

    def cuDeviceGetName(self, length, device):
        name = ctypes.create_string_buffer(length)
        return self.lib.cuDeviceGetName(name, length, device), name.value

    def cuDeviceGetAttribute(self, attribute, device):
        return self._out(ctypes.c_int, "cuDeviceGetAttribute", int(attribute), device)

    def cuDevicePrimaryCtxRetain(self, device):
        return self._out(ctypes.c_void_p, "cuDevicePrimaryCtxRetain", device)

    def cuCtxSetCurrent(self, context):
        return (self.lib.cuCtxSetCurrent(ctypes.c_void_p(context)),)

    def cuCtxSetLimit(self, limit, value):
        return (self.lib.cuCtxSetLimit(int(limit), ctypes.c_size_t(value)),)

    def cuCtxSynchronize(self):
        return (self.lib.cuCtxSynchronize(),)

    def cuModuleLoadData(self, image):
        return self._out(ctypes.c_void_p, "cuModuleLoadData", ctypes.c_char_p(image))

    def cuModuleGetFunction(self, module, name):
        return self._out(ctypes.c_void_p, "cuModuleGetFunction", ctypes.c_void_p(module), name)

    def cuModuleUnload(self, module):
        return (self.lib.cuModuleUnload(ctypes.c_void_p(module)),)

    def cuFuncSetAttribute(self, function, attribute, value):
        return (self.lib.cuFuncSetAttribute(ctypes.c_void_p(function), int(attribute), value),)

    def cuMemAlloc(self, size):
        return self._out(ctypes.c_uint64, "cuMemAlloc_v2", ctypes.c_size_t(size))

    def cuMemFree(self, address):
        return (self.lib.cuMemFree_v2(ctypes.c_uint64(address)),)

    def cuMemcpyHtoD(self, to, data, size):
        return (self.lib.cuMemcpyHtoD_v2(ctypes.c_uint64(to), data, ctypes.c_size_t(size)),)

    def cuMemcpyDtoH(self, data, of, size):
        host = (ctypes.c_char * size).from_buffer(data)
        return (self.lib.cuMemcpyDtoH_v2(host, ctypes.c_uint64(of), ctypes.c_size_t(size)),)

    def cuEventCreate(self, flags):
        return self._out(ctypes.c_void_p, "cuEventCreate", flags)

    def cuEventRecord(self, event, stream):
        return (self.lib.cuEventRecord(ctypes.c_void_p(event), ctypes.c_void_p(stream)),)

    def cuEventSynchronize(self, event):
        return (self.lib.cuEventSynchronize(ctypes.c_void_p(event)),)

    def cuEventDestroy(self, event):
        return (self.lib.cuEventDestroy_v2(ctypes.c_void_p(event)),)

    def cuEventElapsedTime(self, start, end):
        return self._out(
            ctypes.c_float, "cuEventElapsedTime", ctypes.c_void_p(start), ctypes.c_void_p(end)
        )

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, smem, stream, params, extra):
        size = [ctypes.c_uint(n) for n in (gx, gy, gz, bx, by, bz, smem)]
        return (
            self.lib.cuLaunchKernel(
                ctypes.c_void_p(function), *size, ctypes.c_void_p(stream), ctypes.c_void_p(params), None
            ),
        )

    def launch_with(self, function, job, params):
        attributes = (Attribute * 2)()
        count = 0
        if job.get("cluster"):
            attributes[count].id = LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            attributes[count].value.dim[:] = job["cluster"]
            count += 1
        if job.get("cooperative"):
            attributes[count].id = LAUNCH_ATTRIBUTE_COOPERATIVE
            attributes[count].value.number = 1
            count += 1
        config = Config()
        config.grid[:], config.block[:] = job["grid"], job["block"]
        config.smem, config.attrs, config.count = job["smem"], attributes, count
        function = ctypes.c_void_p(function)
        return (self.lib.cuLaunchKernelEx(ctypes.byref(config), function, ctypes.c_void_p(params), None),)

    def attribute(self, name, number):
        return number

    def cuGetErrorString(self, error):
        text = ctypes.c_char_p()
        return self.lib.cuGetErrorString(error, ctypes.byref(text)), text.value


class Bindings:
    """The driver through cuda-bindings."""

    def __init__(self, driver):
        self.driver = driver

    def __getattr__(self, name):
        return getattr(self.driver, name)

    def launch_with(self, function, job, params):
        driver = self.driver
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = job["grid"]
        config.blockDimX, config.blockDimY, config.blockDimZ = job["block"]
        config.sharedMemBytes = job["smem"]
        config.hStream = 0
        attributes = []
        if job.get("cluster"):
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            value = attribute.value
            value.clusterDim.x, value.clusterDim.y, value.clusterDim.z = job["cluster"]
            attribute.value = value
            attributes.append(attribute)
        if job.get("cooperative"):
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            value = attribute.value
            value.cooperative = 1
            attribute.value = value
            attributes.append(attribute)
        config.attrs = attributes
        config.numAttrs = len(attributes)
        return driver.cuLaunchKernelEx(config, function, params, 0)

    def attribute(self, name, number):
        kinds = {"FUNC": self.driver.CUfunction_attribute, "LIMIT": self.driver.CUlimit}
        return getattr(kinds.get(name.split("_")[1], self.driver.CUdevice_attribute), name)


def driver():
    """The driver, and the library by which it is reached."""
    missing = []
    try:
        from cuda.bindings import driver as bindings

        return Bindings(bindings), "cuda-bindings"
    except ImportError as error:
        missing.append(str(error))
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch finds no GPU")
        torch.zeros(1, device="cuda")
        return LibCuda(), "PyTorch"
    except ImportError as error:
        missing.append(str(error))
    try:
        import cupy

        cupy.zeros(1)
        return LibCuda(), "CuPy"
    except ImportError as error:
        missing.append(str(error))
    raise Failure("none of cuda-bindings, PyTorch and CuPy can be used: " + "; ".join(missing))


def check(cuda, result):
    """The values of a result, or a failure."""
    error, *values = result
    if int(error) != 0:
        try:
            text = cuda.cuGetErrorString(error)[1]
            text = text.decode() if isinstance(text, bytes) else str(text)
        except Exception:
            text = "unknown"
        raise Failure(f"CUDA error {int(error)}: {text}")
    return values[0] if values else None


def device(cuda):
    check(cuda, cuda.cuInit(0))
    device = check(cuda, cuda.cuDeviceGet(0))
    context = check(cuda, cuda.cuDevicePrimaryCtxRetain(device))
    check(cuda, cuda.cuCtxSetCurrent(context))
    limit = cuda.attribute("CU_LIMIT_STACK_SIZE", LIMIT_STACK_SIZE)
    check(cuda, cuda.cuCtxSetLimit(limit, STACK_BYTES))
    return device


def probe(cuda, by):
    gpu = device(cuda)
    name = bytes(check(cuda, cuda.cuDeviceGetName(128, gpu))).split(b"\0")[0].decode()
    major = cuda.attribute("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", COMPUTE_CAPABILITY_MAJOR)
    minor = cuda.attribute("CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR", COMPUTE_CAPABILITY_MINOR)
    capability = [int(check(cuda, cuda.cuDeviceGetAttribute(part, gpu))) for part in (major, minor)]
    version = int(check(cuda, cuda.cuDriverGetVersion()))
    return {"device": name, "capability": capability, "driver": version, "by": by}


def run(cuda, job):
    device(cuda)
    with open(job["cubin"], "rb") as file:
        image = file.read()
    module = check(cuda, cuda.cuModuleLoadData(image))
    function = check(cuda, cuda.cuModuleGetFunction(module, job["entry"].encode()))
    if job["smem"] > STATIC_LIMIT:
        attribute = cuda.attribute(
            "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", MAX_DYNAMIC_SHARED_SIZE_BYTES
        )
        check(cuda, cuda.cuFuncSetAttribute(function, attribute, job["smem"]))
    cluster = job.get("cluster") or [1, 1, 1]
    if cluster[0] * cluster[1] * cluster[2] > 8:
        attribute = cuda.attribute(
            "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED", NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        )
        check(cuda, cuda.cuFuncSetAttribute(function, attribute, 1))

    values, buffers = [], []
    for arg in job["args"]:
        content = bytes.fromhex(arg["hex"])
        if arg["kind"] == "buffer":
            # An empty buffer has an address, too.
            address = int(check(cuda, cuda.cuMemAlloc(max(len(content), 1))))
            buffers.append((address, content))
            values.append(ctypes.c_uint64(address))
        else:
            values.append((ctypes.c_char * len(content)).from_buffer_copy(content))
    # The driver reads the arguments where these pointers say, with the sizes that the cubin has.
    pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
    params = ctypes.addressof(pointers)

    start, end = (check(cuda, cuda.cuEventCreate(0)) for _ in range(2))
    first, times = None, []
    for _ in range(job["runs"]):
        for address, content in buffers:
            if content:
                check(cuda, cuda.cuMemcpyHtoD(address, content, len(content)))
        check(cuda, cuda.cuCtxSynchronize())
        check(cuda, cuda.cuEventRecord(start, 0))
        if job.get("cluster") or job.get("cooperative"):
            launched = cuda.launch_with(function, job, params)
        else:
            launched = cuda.cuLaunchKernel(function, *job["grid"], *job["block"], job["smem"], 0, params, 0)
        check(cuda, launched)
        check(cuda, cuda.cuEventRecord(end, 0))
        check(cuda, cuda.cuEventSynchronize(end))
        check(cuda, cuda.cuCtxSynchronize())
        times.append(float(check(cuda, cuda.cuEventElapsedTime(start, end))))
        if first is None:
            first = []
            for address, content in buffers:
                data = bytearray(len(content))
                if content:
                    check(cuda, cuda.cuMemcpyDtoH(data, address, len(content)))
                first.append(bytes(data).hex())
    for address, _ in buffers:
        check(cuda, cuda.cuMemFree(address))
    for event in (start, end):
        check(cuda, cuda.cuEventDestroy(event))
    check(cuda, cuda.cuModuleUnload(module))
    return {"buffers": first, "times": times}


def answers():
    """The answers to the jobs of the standard input."""
    try:
        cuda, by = driver()
        for line in sys.stdin:
            job = json.loads(line)
            yield run(cuda, job) if job else probe(cuda, by)
    except Failure as error:
        yield {"error": str(error)}
    except Exception as error:
        yield {"error": f"{type(error).__name__}: {error}"}


def main():
    for answer in answers():
        print(json.dumps(answer), flush=True)


main()
