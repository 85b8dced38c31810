#include "threads.hpp"

#include <utility>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace viewpass {
namespace {

constexpr auto kPollTime = std::chrono::milliseconds(50);
constexpr int kSpins = 400;  // a few microseconds: longer waits sleep

void pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

Team::~Team() {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    over_ = true;
    ++round_;
  }
  called_.notify_all();
  for (std::thread& other : others_) other.join();
}

void Team::each_alone(size_t n_tasks, const Work& work) {
  for (size_t task = 0; task < n_tasks; ++task) {
    work(task, 0);
    if (wants_to_stop()) throw Interrupted();
  }
}

void Team::each(size_t n_tasks, const Work& work) {
  stopped_ = false;
  if (n_threads_ == 1 || n_tasks <= 1) return each_alone(n_tasks, work);
  while (others_.size() + 1 < n_threads_) {
    const size_t worker = others_.size() + 1;
    others_.emplace_back([this, worker] { serve(worker); });
  }
  work_ = &work, n_tasks_ = n_tasks;
  next_ = 0;
  n_busy_ = others_.size();
  {
    std::lock_guard<std::mutex> hold(mutex_);
    ++round_;
  }
  called_.notify_all();
  take_tasks(0);
  for (int n = 0; n < kSpins && n_busy_ > 0; ++n) pause();
  if (n_busy_ > 0) {
    std::unique_lock<std::mutex> hold(mutex_);
    done_.wait(hold, [this] { return n_busy_ == 0; });
  }
  if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
  if (stopped_) throw Interrupted();
}

void Team::take_tasks(size_t worker) {
  try {
    for (size_t task = next_++; task < n_tasks_; task = next_++) {
      (*work_)(task, worker);
      if (worker == 0 && wants_to_stop()) {
        stopped_ = true;
        next_ = n_tasks_;
      }
    }
  } catch (...) {
    std::lock_guard<std::mutex> hold(mutex_);
    if (!problem_) problem_ = std::current_exception();
    next_ = n_tasks_;
  }
}

void Team::serve(size_t worker) {
  for (uint64_t seen = 0;;) {
    for (int n = 0; n < kSpins && round_ == seen; ++n) pause();
    if (round_ == seen) {
      std::unique_lock<std::mutex> hold(mutex_);
      called_.wait(hold, [this, seen] { return round_ != seen; });
    }
    seen = round_;
    if (over_) return;
    take_tasks(worker);
    if (--n_busy_ == 0) {
      std::lock_guard<std::mutex> hold(mutex_);  // the caller is not between checking and sleeping
      done_.notify_one();
    }
  }
}

bool Team::wants_to_stop() {
  if (!stop_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - polled_ < kPollTime) return false;
  polled_ = now;
  return stop_();
}

}  // namespace viewpass
