// A thread pool that runs numbered tasks. Results must not depend on which thread runs which.
//
// A pool lives as long as one call from Python: nothing is left behind that a fork could break.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace viewpass {

/// Thrown out of `Team::each` where its caller wants to stop.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

class Team {
 public:
  /// `stop`: whether the caller wants to stop (Ctrl-C); called on its thread every 50 ms or so.
  explicit Team(size_t n_threads, std::function<bool()> stop = {})
      : n_threads_(n_threads ? n_threads : 1), stop_(std::move(stop)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  size_t size() const { return n_threads_; }

  using Work = std::function<void(size_t task, size_t worker)>;
  /// work(task, worker) for every task; returns when all are done. The calling thread is worker 0.
  void each(size_t n_tasks, const Work& work);
  /// The same on the calling thread alone, where sharing would cost more than it saves.
  void each_alone(size_t n_tasks, const Work& work);
  /// work(begin, end, worker) for all ranges of `size` numbers below n.
  template <class RangeWork>
  void each_range(size_t n, size_t size, const RangeWork& work) {
    each((n + size - 1) / size,
         [&](size_t task, size_t worker) { work(task * size, std::min((task + 1) * size, n), worker); });
  }

 private:
  void take_tasks(size_t worker);
  void serve(size_t worker);
  bool wants_to_stop();

  size_t n_threads_;
  std::function<bool()> stop_;
  std::chrono::steady_clock::time_point polled_ = std::chrono::steady_clock::now();
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable called_, done_;
  std::atomic<uint64_t> round_{0};
  std::atomic<size_t> next_{0}, n_busy_{0};
  std::atomic<bool> over_{false}, stopped_{false};
  std::exception_ptr problem_;
  size_t n_tasks_ = 0;
  const Work* work_ = nullptr;
};

}  // namespace viewpass
