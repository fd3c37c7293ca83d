; Memory of a thread: arrays with variable indices, sizes that are known only at run time, variable numbers of arguments.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p1.p3.i32(ptr addrspace(1), ptr addrspace(3), i32, i1)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)

define ptx_kernel void @arrays(ptr addrspace(1) %p, i32 %i, i32 %j) {
  %a = alloca [33 x i32], align 16
  %b = alloca [5 x { i8, double }], align 8
  call void @llvm.lifetime.start.p0(ptr %a)
  %e = getelementptr [33 x i32], ptr %a, i32 0, i32 %i
  store i32 %j, ptr %e
  %f = getelementptr [33 x i32], ptr %a, i32 0, i32 %j
  %v = load i32, ptr %f
  store i32 %v, ptr addrspace(1) %p
  call void @llvm.lifetime.end.p0(ptr %a)
  %g = getelementptr [5 x { i8, double }], ptr %b, i32 0, i32 %i, i32 1
  store double 1.5, ptr %g
  %h = getelementptr [5 x { i8, double }], ptr %b, i32 0, i32 %j, i32 0
  %w = load i8, ptr %h
  store i8 %w, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @copies(ptr %x, ptr %y, i64 %n, ptr addrspace(1) %g, ptr addrspace(3) %s, i32 %m) {
  %a = alloca [64 x i8], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a, ptr align 8 %x, i64 64, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %y, ptr %a, i64 61, i1 false)
  call void @llvm.memset.p0.i64(ptr %a, i8 3, i64 64, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 %n, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %x, ptr %y, i64 %n, i1 true)
  call void @llvm.memset.p0.i64(ptr %y, i8 5, i64 %n, i1 false)
  call void @llvm.memcpy.p1.p3.i32(ptr addrspace(1) %g, ptr addrspace(3) %s, i32 %m, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %a, i64 17, i1 false)
  ret void
}

define ptx_kernel void @unaligned(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %a = load i64, ptr addrspace(1) %p, align 1
  store i64 %a, ptr addrspace(1) %q, align 2
  %b = load <4 x float>, ptr addrspace(1) %p, align 4
  store <4 x float> %b, ptr addrspace(1) %q, align 8
  %c = load i17, ptr addrspace(1) %p
  %d = add i17 %c, 5
  store i17 %d, ptr addrspace(1) %q
  %e = load i48, ptr addrspace(1) %p
  store i48 %e, ptr addrspace(1) %q
  ret void
}
