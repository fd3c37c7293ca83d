; Functions: aggregates by value, memory by value, results in memory, many parameters, pointers to functions, recursion, and
; declarations of other modules.
target triple = "nvptx64-nvidia-cuda"

%pair = type { i32, double }
%small = type { i8, i16, i8 }
%nested = type { %pair, [3 x float], <2 x i16> }
%packed = type <{ i8, i32, double }>

define internal %pair @swap(%pair %x) noinline {
  %a = extractvalue %pair %x, 0
  %b = extractvalue %pair %x, 1
  %c = fptosi double %b to i32
  %d = sitofp i32 %a to double
  %r = insertvalue %pair undef, i32 %c, 0
  %s = insertvalue %pair %r, double %d, 1
  ret %pair %s
}

define internal %small @bytes(%small %x, i1 zeroext %flag, i8 signext %add) noinline {
  %a = extractvalue %small %x, 0
  %b = add i8 %a, %add
  %c = select i1 %flag, i8 %b, i8 7
  %r = insertvalue %small %x, i8 %c, 2
  ret %small %r
}

define internal %nested @deep(%nested %x, i64 %i) noinline {
  %f = extractvalue %nested %x, 1, 2
  %g = fadd float %f, 1.0
  %r = insertvalue %nested %x, float %g, 1, 0
  ret %nested %r
}

define internal %packed @tight(%packed %x) noinline {
  %a = extractvalue %packed %x, 1
  %b = add i32 %a, 1
  %r = insertvalue %packed %x, i32 %b, 1
  ret %packed %r
}

define internal void @in_memory(ptr sret(%pair) %out, ptr byval(%pair) align 8 %x) noinline {
  %p = getelementptr %pair, ptr %x, i32 0, i32 1
  %d = load double, ptr %p
  store double %d, ptr %p
  %q = getelementptr %pair, ptr %out, i32 0, i32 1
  store double %d, ptr %q
  store i32 3, ptr %out
  ret void
}

define internal <4 x float> @vector(<4 x float> %x, <2 x i8> %y, <3 x i16> %z) noinline {
  %a = extractelement <3 x i16> %z, i32 2
  %f = uitofp i16 %a to float
  %r = insertelement <4 x float> %x, float %f, i32 1
  ret <4 x float> %r
}

define internal i128 @wide(i128 %x, i128 %y) noinline {
  %r = mul i128 %x, %y
  ret i128 %r
}

define internal half @halves(half %x, bfloat %y, <2 x half> %z) noinline {
  %e = fpext bfloat %y to float
  %f = fptrunc float %e to half
  %g = fadd half %x, %f
  %h = extractelement <2 x half> %z, i32 1
  %r = fmul half %g, %h
  ret half %r
}

define internal i32 @factorial(i32 %n) noinline {
  %stop = icmp ult i32 %n, 2
  br i1 %stop, label %one, label %more
one:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %f = call i32 @factorial(i32 %m)
  %r = mul i32 %f, %n
  ret i32 %r
}

define internal i1 @even(i32 %n) noinline {
  %stop = icmp eq i32 %n, 0
  br i1 %stop, label %yes, label %more
yes:
  ret i1 true
more:
  %m = sub i32 %n, 1
  %r = call i1 @odd(i32 %m)
  ret i1 %r
}

define internal i1 @odd(i32 %n) noinline {
  %stop = icmp eq i32 %n, 0
  br i1 %stop, label %no, label %more
no:
  ret i1 false
more:
  %m = sub i32 %n, 1
  %r = call i1 @even(i32 %m)
  ret i1 %r
}

define internal void @leaves() noinline noreturn {
  call void asm sideeffect "exit;", ""()
  unreachable
}

define ptx_kernel void @aggregates(ptr addrspace(1) %p, ptr addrspace(1) %q, i64 %i) {
  %x = load %pair, ptr addrspace(1) %p
  %y = call %pair @swap(%pair %x)
  store %pair %y, ptr addrspace(1) %p
  %s = load %small, ptr addrspace(1) %q
  %t = call %small @bytes(%small %s, i1 zeroext true, i8 signext -3)
  store %small %t, ptr addrspace(1) %q
  %n = load %nested, ptr addrspace(1) %p
  %m = call %nested @deep(%nested %n, i64 %i)
  store %nested %m, ptr addrspace(1) %p
  %u = load %packed, ptr addrspace(1) %q, align 1
  %v = call %packed @tight(%packed %u)
  store %packed %v, ptr addrspace(1) %q, align 1
  ret void
}

define ptx_kernel void @memory(ptr addrspace(1) %p) {
  %in = alloca %pair, align 8
  %out = alloca %pair, align 8
  store double 2.5, ptr %in
  call void @in_memory(ptr sret(%pair) %out, ptr byval(%pair) align 8 %in)
  %r = load i32, ptr %out
  store i32 %r, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @vectors(ptr addrspace(1) %p, <4 x float> %x, <2 x i8> %y, <3 x i16> %z, i128 %w) {
  %r = call <4 x float> @vector(<4 x float> %x, <2 x i8> %y, <3 x i16> %z)
  store <4 x float> %r, ptr addrspace(1) %p
  %v = call i128 @wide(i128 %w, i128 %w)
  store i128 %v, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @small_floats(ptr addrspace(1) %p, half %x, bfloat %y, <2 x half> %z) {
  %r = call half @halves(half %x, bfloat %y, <2 x half> %z)
  store half %r, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @recursion(ptr addrspace(1) %p, i32 %n) {
  %r = call i32 @factorial(i32 %n)
  %e = call i1 @even(i32 %r)
  %z = zext i1 %e to i32
  %s = add i32 %z, %r
  store i32 %s, ptr addrspace(1) %p
  %stop = icmp eq i32 %s, 9
  br i1 %stop, label %leave, label %end
leave:
  call void @leaves()
  unreachable
end:
  ret void
}

define ptx_kernel void @parameters_by_value(ptr byval(%nested) align 8 %x, ptr byval([40 x i32]) align 4 %a, i32 %i, ptr addrspace(1) %p) {
  %e = getelementptr [40 x i32], ptr %a, i32 0, i32 %i
  %v = load i32, ptr %e
  store i32 %v, ptr addrspace(1) %p
  store i32 5, ptr %e
  %w = load i32, ptr %a
  store i32 %w, ptr addrspace(1) %p
  ret void
}
