; Variables: initialisers with numbers, addresses, differences of spaces, strings, and every linkage.
target triple = "nvptx64-nvidia-cuda"

%record = type { i32, ptr, [2 x half], i8, double }

@zeros = addrspace(1) global [7 x i16] zeroinitializer, align 8
@numbers = internal addrspace(1) global [4 x i64] [i64 1, i64 -2, i64 3, i64 9223372036854775807]
@floats = internal addrspace(1) constant [3 x float] [float 1.0, float 0x7FF0000000000000, float 0x36A0000000000000]
@halves = internal addrspace(1) constant [4 x half] [half 1.0, half -2.0, half 0xH7C00, half 0xH0001]
@bfloats = internal addrspace(1) constant [2 x bfloat] [bfloat 1.0, bfloat 0xR7F80]
@text = private unnamed_addr addrspace(1) constant [12 x i8] c"text\0A\00more\09\00"
@address = internal addrspace(1) global ptr addrspace(1) @numbers
@generic = internal addrspace(1) global ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i64], ptr addrspace(1) @numbers, i32 0, i32 2) to ptr)
@table = internal addrspace(1) global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @zeros to ptr), ptr null]
@mixed = internal addrspace(1) global %record { i32 7, ptr addrspacecast (ptr addrspace(1) @floats to ptr), [2 x half] [half 1.0, half 2.0], i8 -1, double 0.1 }
@list = internal addrspace(1) global [2 x %record] [%record zeroinitializer, %record { i32 1, ptr addrspacecast (ptr addrspace(1) @text to ptr), [2 x half] zeroinitializer, i8 5, double 1.0 }]
@constant = addrspace(4) constant [3 x i32] [i32 5, i32 6, i32 7]
@pointer_in_constant = internal addrspace(4) constant ptr addrspacecast (ptr addrspace(1) @mixed to ptr)
@shared = internal addrspace(3) global [32 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
@weak_one = weak addrspace(1) global i32 3
@linked_once = linkonce_odr addrspace(1) global i32 4
@common_one = common addrspace(1) global i32 0
@hidden = hidden addrspace(1) global i32 6
@wide = internal addrspace(1) global i128 170141183460469231731687303715884105727
@vector = internal addrspace(1) constant <4 x i32> <i32 1, i32 2, i32 3, i32 4>
@flags = internal addrspace(1) constant [5 x i1] [i1 true, i1 false, i1 true, i1 true, i1 false]
@packed = internal addrspace(1) global <{ i8, i32, i16 }> <{ i8 1, i32 2, i16 3 }>
@plain = internal global i32 9

define ptx_kernel void @reads(ptr addrspace(1) %p, i32 %i) {
  %a = getelementptr [4 x i64], ptr addrspace(1) @numbers, i32 0, i32 %i
  %b = load i64, ptr addrspace(1) %a
  %c = getelementptr [3 x float], ptr addrspace(1) @floats, i32 0, i32 %i
  %d = load float, ptr addrspace(1) %c
  %e = load ptr, ptr addrspace(1) @generic
  %f = load i64, ptr %e
  %g = getelementptr [2 x ptr], ptr addrspace(1) @table, i32 0, i32 %i
  %h = load ptr, ptr addrspace(1) %g
  %j = load i16, ptr %h
  %k = getelementptr [2 x %record], ptr addrspace(1) @list, i32 0, i32 %i, i32 4
  %l = load double, ptr addrspace(1) %k
  %m = getelementptr [3 x i32], ptr addrspace(4) @constant, i32 0, i32 %i
  %n = load i32, ptr addrspace(4) %m
  %o = load ptr, ptr addrspace(4) @pointer_in_constant
  %q = load i32, ptr %o
  %r = getelementptr [12 x i8], ptr addrspace(1) @text, i32 0, i32 %i
  %s = load i8, ptr addrspace(1) %r
  %t = load volatile i32, ptr addrspace(1) @weak_one
  %u = load volatile i32, ptr addrspace(1) @linked_once
  %v = load volatile i32, ptr addrspace(1) @common_one
  %w = load volatile i32, ptr addrspace(1) @hidden
  %x = load i128, ptr addrspace(1) @wide
  %y = load volatile i32, ptr @plain
  %z = getelementptr [4 x half], ptr addrspace(1) @halves, i32 0, i32 %i
  %aa = load half, ptr addrspace(1) %z
  %ab = getelementptr <{ i8, i32, i16 }>, ptr addrspace(1) @packed, i32 0, i32 1
  %ac = load volatile i32, ptr addrspace(1) %ab, align 1
  %ad = load volatile <4 x i32>, ptr addrspace(1) @vector
  %ae = load volatile ptr addrspace(1), ptr addrspace(1) @address
  %af = getelementptr [5 x i1], ptr addrspace(1) @flags, i32 0, i32 %i
  %ag = load volatile i1, ptr addrspace(1) %af
  %ah = getelementptr [2 x bfloat], ptr addrspace(1) @bfloats, i32 0, i32 %i
  %ai = load bfloat, ptr addrspace(1) %ah
  %sum1 = add i64 %b, %f
  store volatile i64 %sum1, ptr addrspace(1) %p
  store volatile float %d, ptr addrspace(1) %p
  store volatile i16 %j, ptr addrspace(1) %p
  store volatile double %l, ptr addrspace(1) %p
  %sum2 = add i32 %n, %q
  %sum3 = add i32 %sum2, %t
  %sum4 = add i32 %sum3, %u
  %sum5 = add i32 %sum4, %v
  %sum6 = add i32 %sum5, %w
  %sum7 = add i32 %sum6, %y
  %sum8 = add i32 %sum7, %ac
  store volatile i32 %sum8, ptr addrspace(1) %p
  store volatile i8 %s, ptr addrspace(1) %p
  store volatile i128 %x, ptr addrspace(1) %p
  store volatile half %aa, ptr addrspace(1) %p
  store volatile <4 x i32> %ad, ptr addrspace(1) %p
  store volatile ptr addrspace(1) %ae, ptr addrspace(1) %p
  store volatile i1 %ag, ptr addrspace(1) %p
  store volatile bfloat %ai, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @shares(ptr addrspace(1) %p, i32 %i, float %v) {
  %a = getelementptr [32 x float], ptr addrspace(3) @shared, i32 0, i32 %i
  store float %v, ptr addrspace(3) %a
  %b = getelementptr i8, ptr addrspace(3) @dynamic, i32 %i
  store i8 3, ptr addrspace(3) %b
  %c = addrspacecast ptr addrspace(3) @shared to ptr
  %d = load volatile float, ptr %c
  %e = ptrtoint ptr addrspace(3) %b to i32
  store float %d, ptr addrspace(1) %p
  store volatile i32 %e, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @spaces(ptr %x, ptr addrspace(1) %p) {
  %l = alloca [4 x i32], align 4
  %a = addrspacecast ptr %x to ptr addrspace(1)
  %b = addrspacecast ptr %x to ptr addrspace(3)
  %c = addrspacecast ptr %x to ptr addrspace(4)
  %d = addrspacecast ptr %x to ptr addrspace(5)
  %v = load volatile i32, ptr addrspace(1) %a
  %w = load volatile i32, ptr addrspace(3) %b
  %y = load volatile i32, ptr addrspace(4) %c
  %z = load volatile i32, ptr addrspace(5) %d
  store volatile i32 %z, ptr %l
  %s = add i32 %v, %w
  %t = add i32 %s, %y
  store i32 %t, ptr addrspace(1) %p
  %n = icmp eq ptr addrspace(3) %b, null
  store volatile i1 %n, ptr addrspace(1) %p
  ret void
}
