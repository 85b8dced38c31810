// A team of threads that takes numbered tasks. Results must not depend on who takes which.
//
// A team lives as long as one call from Python: nothing is left behind that a fork could break.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace viewpass {

/// Thrown out of `Team::each` where the caller asked to stop.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Asks now and then whether the caller wants to stop (Ctrl-C).
class Watch {
 public:
  virtual ~Watch() = default;
  /// Called by the calling thread only, every kPollTime or so.
  virtual bool stop() = 0;
};

class Team {
 public:
  explicit Team(std::size_t n_threads, Watch* watch = nullptr)
      : n_threads_(n_threads ? n_threads : 1), watch_(watch), polled_(std::chrono::steady_clock::now()) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  std::size_t size() const { return n_threads_; }

  /// work(task, worker) for every task; returns when all are done. The calling thread is worker 0.
  template <class Work>
  void each(std::size_t n_tasks, const Work& work) {
    run(n_tasks, &work, [](const void* context, std::size_t task, std::size_t worker) {
      (*static_cast<const Work*>(context))(task, worker);
    });
  }

  /// The same on the calling thread alone, where sharing would cost more than it saves.
  template <class Work>
  void each_alone(std::size_t n_tasks, const Work& work) {
    for (std::size_t task = 0; task < n_tasks; ++task) {
      work(task, std::size_t{0});
      poll();
    }
  }

  /// Gives the caller a chance to stop; throws Interrupted.
  void poll();

 private:
  using Run = void (*)(const void* context, std::size_t task, std::size_t worker);

  void run(std::size_t n_tasks, const void* context, Run work);
  void take_tasks(std::size_t worker);
  void serve(std::size_t worker);
  bool time_to_poll();

  std::size_t n_threads_;
  Watch* watch_;
  std::chrono::steady_clock::time_point polled_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable called_, done_;
  std::atomic<uint64_t> round_{0};
  std::atomic<std::size_t> next_{0}, n_busy_{0};
  std::atomic<bool> over_{false}, stopped_{false};
  std::exception_ptr problem_;
  std::size_t n_tasks_ = 0;
  const void* context_ = nullptr;
  Run run_ = nullptr;
};

}  // namespace viewpass
