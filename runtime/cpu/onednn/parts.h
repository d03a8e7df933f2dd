// The functions that the module's table is made of; what each promises stands in cpu/dnn.h.
#pragma once
#include "cpu/dnn.h"

namespace rille::cpu {

bool onednn_gemm(DType dtype, const Gemm& g, const void* a, const void* b, void* c,
                 const void* bias);
bool onednn_conv(ConvPass pass, DType dtype, const Conv& c, const void* first, const void* second,
                 void* result, const void* bias);

}  // namespace rille::cpu
