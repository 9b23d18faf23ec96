# cmake -DFILES=A.ptx;B.ptx… -P roundings_test.cmake: no sum or product of floats in FILES may be joined with another.
# PTX says so by a rounding: mul.rn.f32. One without, mul.f32, the assembler may make a part of a fused instruction (PTX
# ISA, "Floating Point Instructions: mul").
set(rounded 0)
foreach(file IN LISTS FILES)
  file(STRINGS ${file} free REGEX "[ \t](add|sub|mul)(\\.ftz)?\\.f(32|64)[ \t]")
  list(LENGTH free count)
  if(count GREATER 0)
    list(GET free 0 first)
    message(SEND_ERROR "${file}: ${count} sums and products without a rounding, first: ${first}")
  endif()
  file(STRINGS ${file} said REGEX "[ \t](add|sub|mul)\\.rn\\.f(32|64)[ \t]")
  list(LENGTH said count)
  math(EXPR rounded "${rounded} + ${count}")
endforeach()
if(rounded LESS 100)
  message(SEND_ERROR "only ${rounded} sums and products of floats were found in: ${FILES}")
endif()
