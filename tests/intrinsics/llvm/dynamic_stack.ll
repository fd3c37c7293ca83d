; Memory of a thread whose size is known only at run time.
target triple = "nvptx64-nvidia-cuda"

declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)

define ptx_kernel void @sized(ptr addrspace(1) %p, i32 %n, i32 %i) {
  %saved = call ptr @llvm.stacksave.p0()
  %a = alloca i32, i32 %n, align 16
  %e = getelementptr i32, ptr %a, i32 %i
  store volatile i32 %i, ptr %e
  %v = load volatile i32, ptr %a
  store i32 %v, ptr addrspace(1) %p
  call void @llvm.stackrestore.p0(ptr %saved)
  ret void
}
