"""Kernels for Warp: what its functions on numbers do not cover."""

from typing import Any

import warp as wp


def alone(function):
    """A kernel in a module of its own."""
    module = wp.get_module(f"warp_kernels.{function.__name__}")
    # The stacks of queries are in shared memory, which limits the threads of a block.
    module.options["block_dim"] = 64 if function.__name__ == "meshes" else 256
    return wp.kernel(function, module=module)


@wp.struct
class Body:
    """A structure with vectors, arrays and a structure's array."""

    position: wp.vec3
    turn: wp.quat
    inertia: wp.mat33
    mass: float
    flags: wp.array(dtype=wp.uint8)


@wp.struct
class World:
    """A structure in a structure."""

    bodies: wp.array(dtype=Body)
    first: Body
    gravity: wp.vec3d
    count: int


@wp.func
def folded(x: float, n: int):
    """A function with a loop of its own."""
    total = float(0.0)
    for i in range(n):
        total += wp.sin(x * float(i))
    return total


@wp.func
def pair(x: wp.vec3, y: float):
    """A function with two results."""
    return x * y, wp.length(x) + y


@wp.func
def generic(x: Any, y: Any):
    """A function of any types."""
    return x * y + x


@wp.func
def custom(x: float):
    """A function with a gradient of its own."""
    return x * x * x


@wp.func_grad(custom)
def adjoint_of_custom(x: float, adjoint: float):
    """The gradient."""
    wp.adjoint[x] += 3.0 * x * x * adjoint


@wp.func_native("""
    int lane = threadIdx.x & 31;
    return value + __shfl_xor_sync(0xffffffff, value, 1) * lane;
""")
def native(value: float) -> float: ...


@alone
def control(out: wp.array(dtype=float), a: wp.array(dtype=float), n: int):
    i = wp.tid()
    total = float(0.0)
    k = int(0)
    while k < n:
        k += 1
        if k % 3 == 0:
            continue
        if a[k] > 10.0:
            break
        total += folded(a[k], k)
    for j in range(n, 0, -2):
        total -= a[j] if a[j] > 0.0 and not (a[j] == 5.0) else 1.0
    for m in range(4):
        total *= float(m) + custom(total)
    out[i] = wp.where(total > 3.0, total, generic(total, a[0])) + native(total)


@alone
def structures(world: World, out: wp.array(dtype=Body), vectors: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    body = world.bodies[i]
    moved, size = pair(vectors[i], body.mass)
    body.position += moved + wp.vec3(world.gravity)
    body.turn = wp.normalize(body.turn * wp.quat_from_axis_angle(wp.vec3(0.0, 1.0, 0.0), size))
    body.inertia = wp.inverse(body.inertia) * wp.transpose(world.first.inertia)
    if body.flags[i] == wp.uint8(3):
        body.mass = body.inertia[1, 2] + body.inertia[2][0]
    out[i] = body


@alone
def atomics(
    f: wp.array(dtype=float), d: wp.array(dtype=wp.float64), i: wp.array(dtype=int), u: wp.array(dtype=wp.uint64),
    v: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), h: wp.array(dtype=wp.float16), q: wp.array2d(dtype=wp.int64),
):
    t = wp.tid()
    wp.atomic_add(f, t, 1.0)
    wp.atomic_sub(d, t, wp.float64(2.0))
    wp.atomic_min(f, t, f[t + 1])
    wp.atomic_max(d, t, d[t + 1])
    wp.atomic_min(i, t, 3)
    wp.atomic_max(u, t, u[0])
    wp.atomic_add(v, t, wp.vec3(1.0, 2.0, 3.0))
    wp.atomic_min(v, t, v[0])
    wp.atomic_add(m, t, m[0])
    wp.atomic_add(h, t, wp.float16(1.0))
    wp.atomic_add(q, t, 3, q[0, 0])
    i[t + 7] = wp.atomic_cas(i, t, 1, 2) + wp.atomic_exch(i, t, 5)
    wp.atomic_and(i, t, 7)
    wp.atomic_or(u, t, wp.uint64(7))
    wp.atomic_xor(i, t, 9)
    f[t] += 3.0
    v[t] -= wp.vec3(1.0)


@alone
def arrays(
    a: wp.array4d(dtype=wp.float16), b: wp.indexedarray2d(dtype=float), c: wp.array2d(dtype=wp.bfloat16), out: wp.array(dtype=float)
):
    i, j, k, l = wp.tid()
    row = c[i]
    view = wp.view(a, i, j)
    out[i] = float(a[i, j, k, l]) + b[i, j] + float(row[k]) + float(view[k, l]) + float(a.shape[2])


@alone
def prints(a: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat22), u: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    print(a[i])
    print(v[i])
    print(m[i])
    print(u[i])
    print("text")
    wp.printf("%d %f %s %llu\n", i, a[i], "text", u[i])
    wp.expect_eq(i, 3)
    wp.expect_near(a[i], 1.0)
    assert a[i] > 0.0, "positive"


@alone
def randoms(seed: int, out: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), table: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    out[i] = wp.randf(state) + wp.randn(state) + wp.randf(state, 1.0, 2.0) + float(wp.randi(state, 0, 9))
    out[i] += float(wp.poisson(state, 3.0)) + float(wp.randu(state)) + float(wp.sample_cdf(state, table))
    v[i] = wp.sample_unit_sphere(state) + wp.sample_unit_cube(state) + wp.curlnoise(state, v[i])
    out[i] += wp.noise(state, v[i]) + wp.pnoise(state, v[i], 3, 4, 5)


@alone
def meshes(
    mesh: wp.uint64, bvh: wp.uint64, grid: wp.uint64, points: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)
):
    i = wp.tid()
    p = points[i]
    near = wp.mesh_query_point(mesh, p, 10.0)
    if near.result:
        out[i] = wp.length(wp.mesh_eval_position(mesh, near.face, near.u, near.v) - p) * near.sign
    signed = wp.mesh_query_point_sign_normal(mesh, p, 5.0)
    winding = wp.mesh_query_point_sign_winding_number(mesh, p, 5.0)
    far = wp.mesh_query_furthest_point_no_sign(mesh, p, 1.0)
    hit = wp.mesh_query_ray(mesh, p, directions[i], 100.0)
    out[i] += signed.sign + winding.sign + far.u + hit.t
    if wp.mesh_query_ray_anyhit(mesh, p, directions[i], 9.0):
        out[i] += 1.0
    out[i] += float(wp.mesh_query_ray_count_intersections(mesh, p, directions[i], 0))
    faces = wp.mesh_query_aabb(mesh, p - wp.vec3(1.0), p + wp.vec3(1.0))
    for face in faces:
        out[i] += wp.length(wp.mesh_eval_face_normal(mesh, face)) + wp.length(wp.mesh_eval_velocity(mesh, face, 0.1, 0.2))
    boxes = wp.bvh_query_aabb(bvh, p, p + wp.vec3(2.0))
    box = int(0)
    while wp.bvh_query_next(boxes, box):
        out[i] += float(box)
    rays = wp.bvh_query_ray(bvh, p, directions[i])
    while wp.bvh_query_next(rays, box, 5.0):
        out[i] -= float(box)
    for j in wp.hash_grid_query(grid, p, 0.5):
        if wp.length(points[j] - p) < 0.5:
            out[i] += float(wp.hash_grid_point_id(grid, j))


@alone
def shapes(a: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    i = wp.tid()
    if wp.intersect_tri_tri(a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4], a[i + 5]) == 1:
        out[i] = 1.0
    out[i] += wp.length(wp.closest_point_edge_edge(a[i], a[i + 1], a[i + 2], a[i + 3], 0.001))


@alone
def volumes(volume: wp.uint64, index: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3), values: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    q = wp.volume_world_to_index(volume, points[i])
    slope = wp.vec3()
    f = wp.volume_sample_grad_f(volume, q, wp.Volume.LINEAR, slope)
    f += wp.volume_sample_f(volume, q, wp.Volume.CLOSEST) + wp.volume_lookup_f(volume, 1, 2, i)
    n = wp.volume_sample_i(volume, q) + wp.volume_lookup_i(volume, i, 2, 3) + wp.volume_lookup_index(volume, 1, 2, 3)
    v = wp.volume_sample_v(volume, q, wp.Volume.LINEAR) + wp.volume_lookup_v(volume, i, 1, 2)
    d = wp.volume_sample(volume, q, wp.Volume.LINEAR, dtype=wp.vec3)
    e = wp.volume_sample_index(index, q, wp.Volume.LINEAR, values, wp.vec3d())
    wp.volume_store_f(volume, i, 1, 2, f)
    wp.volume_store_v(volume, i, 1, 2, v)
    wp.volume_store_i(volume, i, 1, 2, n)
    out[i] = v * f + slope + d + wp.volume_index_to_world_dir(volume, q) + wp.vec3(e)


@alone
def decompositions(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat44d), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    u, s, v = wp.svd3(a[i])
    q, r = wp.qr3(a[i])
    vectors, values = wp.eig3(a[i])
    f, g, h = wp.svd2(wp.mat22(a[i][0, 0], 1.0, 2.0, a[i][1, 1]))
    out[i] = u * s + v * values + q * wp.get_diag(r) + vectors * wp.vec3(float(wp.determinant(b[i])), g[0], f[0, 0] + h[1, 1])


big_matrix = wp.types.matrix(shape=(6, 7), dtype=wp.float32)
big_vector = wp.types.vector(length=7, dtype=wp.float32)


@alone
def big(a: wp.array(dtype=big_matrix), v: wp.array(dtype=big_vector), out: wp.array(dtype=float), n: int):
    i = wp.tid()
    product = a[i] * v[i]
    for k in range(n):
        product[k] += a[i][k, n] * v[i][k]
    v[i] = wp.transpose(a[i]) * product
    out[i] = wp.dot(product, product) + wp.ddot(a[i], a[i + 1]) + wp.max(v[i]) + v[i][n]


@alone
def tiles(a: wp.array2d(dtype=float), b: wp.array2d(dtype=wp.float64), out: wp.array2d(dtype=float), numbers: wp.array(dtype=int)):
    i, j = wp.tid()
    x = wp.tile_load(a, shape=(16, 16), offset=(i * 16, j * 16), storage="shared")
    y = wp.tile_load(a, shape=(16, 16), offset=(0, j * 16))
    z = wp.tile_map(wp.sin, x) * 2.0 + wp.tile_broadcast(wp.tile_sum(y), shape=(16, 16))
    wp.tile_store(out, wp.tile_transpose(z), offset=(i * 16, j * 16))
    wp.tile_atomic_add(out, z + wp.tile_ones(shape=(16, 16), dtype=float), offset=(i, j))
    largest = wp.tile_max(x)
    wp.tile_store(out[i], wp.tile_reduce(wp.min, y) + largest)
    n = wp.tile_load(numbers, shape=256, offset=j)
    m = wp.tile_scan_inclusive(n) + wp.tile_arange(0, 256, dtype=int)
    wp.tile_store(numbers, wp.tile_scan_exclusive(m))
    numbers[i] = wp.tile_argmax(n)[0]
    d = wp.tile_load(b, shape=(8, 8))
    wp.tile_store(b, wp.tile_astype(wp.tile_view(x, offset=(0, 0), shape=(8, 8)), dtype=wp.float64) + d)


@alone
def tile_of_threads(a: wp.array(dtype=float), out: wp.array(dtype=float), keys: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.tile(a[i] * 2.0)
    s = wp.tile_sum(t)
    k = wp.tile_load(keys, shape=64)
    v = wp.tile_load(a, shape=64)
    wp.tile_sort(k, v)
    wp.tile_store(keys, k)
    wp.tile_store(out, v)
    out[i] = wp.untile(t) + wp.tile_extract(s, 0)


@alone
def tile_products(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    x = wp.tile_load(a, shape=(8, 8))
    y = wp.tile_zeros(shape=(8, 8), dtype=float)
    wp.tile_matmul(x, wp.tile_transpose(x), y)
    wp.tile_store(out, wp.tile_cholesky(wp.tile_diag_add(y, wp.tile_ones(shape=8, dtype=float))))


def made_for(kind):
    """A kernel in a module of its own for a type."""

    @wp.kernel(module="unique")
    def kernel(a: wp.array(dtype=kind), out: wp.array(dtype=kind)):
        i = wp.tid()
        out[i] = generic(a[i], kind(3))

    return kernel
