// The engine from C++ alone, no Lua: a network in mixed precision, an optimizer and its rates.
//   find_package(rille REQUIRED)   target_link_libraries(train PRIVATE rille::rille)
#include <rille/rille.hpp>

#include <cstdio>

int main() {
  using namespace rille;
  Device device = default_device();
  auto net = nn::Sequential(nn::Linear(512, 2048), nn::GELU(), nn::Linear(2048, 512)).to(device);
  optim::AdamW opt{net.parameters(), {.lr = 3e-4}};
  auto schedule = optim::warmup_cosine(opt, {.warmup = 10, .steps = 100, .min_lr = 3e-5});
  amp::GradScaler scaler{{.device = device}};
  for (int step = 1; step <= 100; ++step) {
    Tensor x = randn({64, 512}, {.device = device}), y = randn({64, 512}, {.device = device});
    opt.zero_grad();
    Tensor loss;
    {
      amp::Autocast scope{{.device = device, .dtype = Dtype::f16}};
      loss = mse_loss(net(x), y);
    }
    scaler.scale(loss).backward();
    scaler.unscale_(opt);
    nn::clip_grad_norm_(net.parameters(), 1.0);
    scaler.step(opt);  // unless a gradient is not finite
    scaler.update();
    schedule.step();  // moves on if the optimizer has stepped
    if (step % 20 == 0) std::printf("%d %.4f\n", step, loss.item<double>());
  }
}
