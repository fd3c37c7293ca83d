; Aliases of functions, which LLVM writes as `.alias`.
target triple = "nvptx64-nvidia-cuda"

define i32 @original(i32 %x) noinline {
  %r = add i32 %x, 1
  ret i32 %r
}

@second_name = alias i32 (i32), ptr @original

define ptx_kernel void @calls(ptr addrspace(1) %p, i32 %i) {
  %r = call i32 @second_name(i32 %i)
  store i32 %r, ptr addrspace(1) %p
  ret void
}
