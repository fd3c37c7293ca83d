; Debug information: lines, inlined calls, variables, types, and the sections of DWARF.
target triple = "nvptx64-nvidia-cuda"

@counter = internal addrspace(1) global i32 0, !dbg !20

define internal float @scaled(float %x) noinline !dbg !6 {
  call void @llvm.dbg.value(metadata float %x, metadata !10, metadata !DIExpression()), !dbg !11
  %r = fmul float %x, 3.0, !dbg !11
  ret float %r, !dbg !12
}

define ptx_kernel void @traced(ptr addrspace(1) %p, i32 %n) !dbg !13 {
  %a = alloca i32, align 4, !dbg !16
  call void @llvm.dbg.declare(metadata ptr %a, metadata !17, metadata !DIExpression()), !dbg !16
  store volatile i32 %n, ptr %a, !dbg !16
  %v = load float, ptr addrspace(1) %p, !dbg !18
  %r = call float @scaled(float %v), !dbg !18
  %s = fadd float %r, 1.0, !dbg !19
  store float %s, ptr addrspace(1) %p, !dbg !18
  store i32 %n, ptr addrspace(1) @counter, !dbg !18
  ret void, !dbg !18
}

declare void @llvm.dbg.value(metadata, metadata, metadata)
declare void @llvm.dbg.declare(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1, !2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !3, producer: "by hand", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, globals: !22)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 7, !"Dwarf Version", i32 2}
!3 = !DIFile(filename: "traced.cu", directory: "/source files")
!4 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!5 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!6 = distinct !DISubprogram(name: "scaled", linkageName: "scaled", scope: !3, file: !3, line: 3, type: !7, unit: !0, spFlags: DISPFlagDefinition | DISPFlagLocalToUnit)
!7 = !DISubroutineType(types: !8)
!8 = !{!4, !4}
!9 = !DIFile(filename: "other.h", directory: "/source files")
!10 = !DILocalVariable(name: "x", arg: 1, scope: !6, file: !3, line: 3, type: !4)
!11 = !DILocation(line: 4, column: 9, scope: !6)
!12 = !DILocation(line: 5, column: 3, scope: !6)
!13 = distinct !DISubprogram(name: "traced", scope: !9, file: !9, line: 10, type: !14, unit: !0, spFlags: DISPFlagDefinition)
!14 = !DISubroutineType(types: !15)
!15 = !{null, !5}
!16 = !DILocation(line: 11, column: 7, scope: !13)
!17 = !DILocalVariable(name: "n", scope: !13, file: !9, line: 11, type: !5)
!18 = !DILocation(line: 12, column: 3, scope: !13)
!19 = !DILocation(line: 4, column: 1, scope: !6, inlinedAt: !18)
!20 = !DIGlobalVariableExpression(var: !21, expr: !DIExpression())
!21 = distinct !DIGlobalVariable(name: "counter", scope: !0, file: !3, line: 1, type: !5, isLocal: true, isDefinition: true)
!22 = !{!20}
