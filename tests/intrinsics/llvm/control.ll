; Control flow: switches as chains and tables, computed branches, infinite loops, traps, and code that is not reached.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.trap()
declare void @llvm.debugtrap()
declare void @llvm.assume(i1)
declare void @llvm.nvvm.exit()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @dense(ptr addrspace(1) %p, i32 %i) {
  switch i32 %i, label %other [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e
    i32 5, label %f
    i32 6, label %a
    i32 7, label %b
  ]
a:
  store i32 11, ptr addrspace(1) %p
  br label %end
b:
  store volatile i32 22, ptr addrspace(1) %p
  br label %c
c:
  %v = load i32, ptr addrspace(1) %p
  %w = mul i32 %v, %v
  store i32 %w, ptr addrspace(1) %p
  br label %end
d:
  call void @llvm.trap()
  unreachable
e:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store volatile i32 %t, ptr addrspace(1) %p
  br label %f
f:
  store volatile i32 6, ptr addrspace(1) %p
  br label %end
other:
  call void @llvm.debugtrap()
  br label %end
end:
  ret void
}

define ptx_kernel void @sparse(ptr addrspace(1) %p, i64 %i) {
  switch i64 %i, label %other [
    i64 -9000000000, label %a
    i64 5, label %b
    i64 70000, label %a
    i64 9000000000, label %b
  ]
a:
  store i32 1, ptr addrspace(1) %p
  ret void
b:
  call void @llvm.nvvm.exit()
  unreachable
other:
  unreachable
}

define ptx_kernel void @small(ptr addrspace(1) %p, i8 %i) {
  switch i8 %i, label %other [
    i8 0, label %a
    i8 -1, label %b
    i8 127, label %a
  ]
a:
  store i8 1, ptr addrspace(1) %p
  ret void
b:
  store i8 2, ptr addrspace(1) %p
  ret void
other:
  ret void
}

define ptx_kernel void @endless(ptr addrspace(1) %p) {
  br label %again
again:
  %v = load volatile i32, ptr addrspace(1) %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %again, label %forever
forever:
  store volatile i32 1, ptr addrspace(1) %p
  br label %forever
}

define ptx_kernel void @irreducible(ptr addrspace(1) %p, i32 %n) {
  %c = icmp sgt i32 %n, 3
  br i1 %c, label %left, label %right
left:
  %a = phi i32 [ %n, %0 ], [ %d, %right ]
  %b = add i32 %a, 5
  store volatile i32 %b, ptr addrspace(1) %p
  %stop = icmp sgt i32 %b, 100
  br i1 %stop, label %end, label %right
right:
  %e = phi i32 [ %n, %0 ], [ %b, %left ]
  %d = mul i32 %e, 3
  store volatile i32 %d, ptr addrspace(1) %p
  %halt = icmp sgt i32 %d, 200
  br i1 %halt, label %end, label %left
end:
  ret void
}

define ptx_kernel void @in_order(ptr addrspace(1) %p, i32 %n) {
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %latch ]
  %x = phi float [ 1.0, %0 ], [ %y, %latch ]
  %t = trunc i32 %i to i1
  br i1 %t, label %then, label %latch, !prof !0
then:
  %z = fmul float %x, 2.0
  br label %latch
latch:
  %y = phi float [ %z, %then ], [ %x, %loop ]
  %next = add nuw nsw i32 %i, 1
  %c = icmp slt i32 %next, %n
  call void @llvm.assume(i1 %t)
  br i1 %c, label %loop, label %end, !llvm.loop !1
end:
  store float %y, ptr addrspace(1) %p
  ret void
}

!0 = !{!"branch_weights", i32 1, i32 100}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
