; A variable number of arguments.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
declare i32 @vprintf(ptr, ptr)
@format = internal addrspace(1) constant [4 x i8] c"%d\0A\00"

define internal double @sum(i32 %n, ...) noinline {
  %list = alloca ptr, align 8
  call void @llvm.va_start.p0(ptr %list)
  %a = va_arg ptr %list, i32
  %b = va_arg ptr %list, double
  %c = va_arg ptr %list, i64
  call void @llvm.va_end.p0(ptr %list)
  %d = sitofp i32 %a to double
  %e = sitofp i64 %c to double
  %f = fadd double %d, %b
  %g = fadd double %f, %e
  ret double %g
}

define ptx_kernel void @passes(ptr addrspace(1) %p, double %x) {
  %r = call double (i32, ...) @sum(i32 3, i32 5, double %x, i64 9)
  store double %r, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @prints(i32 %i) {
  %a = alloca i32, align 8
  store i32 %i, ptr %a
  %r = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @format to ptr), ptr %a)
  ret void
}
