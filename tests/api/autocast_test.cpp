// Autocast for hosts, in C++ and in C.
#include "api/c_owned.h"
#include "api/thrown.h"

using namespace rille;
using namespace rille::test;

TEST_CASE("ops in a scope are cast, gradients of parameters are not") {
  const Tensor w = full({3, 3}, 0.5).requires_grad_();
  Tensor y;
  {
    amp::Autocast scope{{.dtype = Dtype::bf16}};
    CHECK(amp::autocast_dtype() == Dtype::bf16);
    y = matmul(w, w);
    CHECK(y.dtype() == Dtype::bf16);
    CHECK(y.sum().dtype() == Dtype::f32);
    {
      amp::Autocast off{{.enabled = false}};
      CHECK(matmul(w, w).dtype() == Dtype::f32);
      CHECK_FALSE(amp::autocast_dtype());
    }
    CHECK(matmul(w, w).dtype() == Dtype::bf16);
  }
  CHECK_FALSE(amp::autocast_dtype());
  y.sum().backward();
  CHECK(w.grad().dtype() == Dtype::f32);
  CHECK(list(w.grad()) == std::vector<double>(9, 3.0));
}

TEST_CASE("rules, lists and what can't be") {
  const Tensor x = full({2}, 0.5).to(Dtype::bf16);
  {
    amp::Autocast scope{{.rules = {{"gelu", "f32"}}}};
    CHECK(gelu(x).dtype() == Dtype::f32);
    CHECK(exp(x).dtype() == Dtype::f32);
  }
  {
    amp::Autocast scope{{.policy = "torch-cpu"}};
    CHECK(exp(x).dtype() == Dtype::bf16);
  }
  CHECK(code_of([] { amp::Autocast scope{{.dtype = Dtype::f64}}; }) == "E_AMP_DTYPE");
  CHECK(code_of([] { amp::Autocast scope{{.rules = {{"gleu", "f32"}}}}; }) == "E_OPTION");
  std::string reason;
  CHECK(amp::is_available("cpu", Dtype::f16));
  CHECK_FALSE(amp::is_available("cpu", Dtype::f32, &reason));
  CHECK(reason == "autocast computes in f16 or bf16, not in f32");
}

TEST_CASE("scopes of autocast in C", "[c]") {
  using namespace rille_c;
  ErrorPlace e;
  uint32_t before = 0;
  REQUIRE(rille_autocast_enter(nullptr, &before, e) == RILLE_OK);
  rille_dtype dtype = RILLE_F32;
  CHECK(rille_autocast_active("cpu", &dtype));
  CHECK(dtype == RILLE_BF16);
  const double values[] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2};
  rille_tensor* made = nullptr;
  REQUIRE(rille_tensor_of(values, 2, shape, RILLE_F32, &made, e) == RILLE_OK);
  const auto x = owned(made);
  CHECK(rille_tensor_dtype(op("matmul", {x.get(), x.get()}).get()) == RILLE_BF16);
  rille_autocast_leave(before);
  CHECK_FALSE(rille_autocast_active("cpu", nullptr));
  CHECK(rille_tensor_dtype(op("matmul", {x.get(), x.get()}).get()) == RILLE_F32);

  char reason[64];
  CHECK(rille_autocast_available("cpu", RILLE_F16, reason, sizeof reason) == 1);
  CHECK(rille_autocast_available("cpu", RILLE_I64, reason, sizeof reason) == 0);
  CHECK(std::string(reason) == "autocast computes in f16 or bf16, not in i64");
  CHECK(rille_autocast_available("tpu", RILLE_F16, reason, sizeof reason) == 0);
  CHECK(rille_autocast_enter(nullptr, nullptr, e) != RILLE_OK);
}
