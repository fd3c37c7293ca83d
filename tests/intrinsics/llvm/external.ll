; Functions and variables of other modules, functions of the driver, and visible functions for other modules.
target triple = "nvptx64-nvidia-cuda"

@other = external addrspace(1) global [4 x i32]
@setting = external addrspace(4) constant float
@offered = addrspace(1) global i32 5

declare i32 @helper(i32, float)
declare void @fills(ptr, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64) noreturn

@message = internal addrspace(1) constant [5 x i8] c"n > 0"

define i32 @offers(i32 %x) noinline {
  %r = add i32 %x, 1
  ret i32 %r
}

define weak i32 @replaceable(i32 %x) noinline {
  %r = add i32 %x, 2
  ret i32 %r
}

define linkonce_odr double @shared_by_modules(double %x) noinline {
  %r = fdiv double 1.0, %x
  ret double %r
}

define ptx_kernel void @uses(ptr addrspace(1) %p, i32 %i, double %d) {
  %e = getelementptr [4 x i32], ptr addrspace(1) @other, i32 0, i32 %i
  %v = load i32, ptr addrspace(1) %e
  %f = load float, ptr addrspace(4) @setting
  %r = call i32 @helper(i32 %v, float %f)
  %s = call i32 @offers(i32 %r)
  %t = call i32 @replaceable(i32 %s)
  %u = call double @shared_by_modules(double %d)
  store double %u, ptr addrspace(1) %p
  %m = call ptr @malloc(i64 64)
  call void @fills(ptr %m, i64 64)
  call void @free(ptr %m)
  store i32 %t, ptr addrspace(1) %p
  %c = icmp sgt i32 %i, 0
  br i1 %c, label %end, label %fail
fail:
  %text = addrspacecast ptr addrspace(1) @message to ptr
  call void @__assertfail(ptr %text, ptr %text, i32 7, ptr %text, i64 1)
  unreachable
end:
  ret void
}
