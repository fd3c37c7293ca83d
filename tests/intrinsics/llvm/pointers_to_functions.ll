; Calls through pointers, tables of functions, and aliases of functions.
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(1) constant [3 x ptr] [ptr @first, ptr @second, ptr @third]

define internal i32 @first(i32 %x) noinline {
  %r = add i32 %x, 3
  ret i32 %r
}

define internal i32 @second(i32 %x) noinline {
  %r = mul i32 %x, %x
  ret i32 %r
}

define internal i32 @third(i32 %x) noinline {
  %r = xor i32 %x, 85
  ret i32 %r
}

define ptx_kernel void @chosen(ptr addrspace(1) %p, i32 %i) {
  %e = getelementptr [3 x ptr], ptr addrspace(1) @table, i32 0, i32 %i
  %f = load ptr, ptr addrspace(1) %e
  %r = call i32 %f(i32 %i)
  store i32 %r, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @selected(ptr addrspace(1) %p, i32 %i) {
  %c = icmp eq i32 %i, 3
  %f = select i1 %c, ptr @first, ptr @second
  %r = call i32 %f(i32 %i)
  store i32 %r, ptr addrspace(1) %p
  ret void
}
