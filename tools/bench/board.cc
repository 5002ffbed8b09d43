// SPDX-License-Identifier: Apache-2.0
#include "bench/board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "bench/failure.h"

namespace rota::bench {
namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share them");

void* map_file(int file, std::size_t bytes, const std::string& path) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  require(at != MAP_FAILED, "cannot map " + path + ": " + std::strerror(errno));
  return at;
}

}  // namespace

std::size_t Board::bytes_for(std::uint64_t jobs) {
  return sizeof(Shared) + (jobs / 64 + 1) * sizeof(Word);
}

Board::Board(const std::string& path, std::uint64_t jobs) : bytes_(bytes_for(jobs)) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(file >= 0, "cannot make " + path + ": " + std::strerror(errno));
  if (ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
    ::close(file);
    throw Failed("cannot size " + path);
  }
  // Zeros are what every member begins with.
  shared_ = new (map_file(file, bytes_, path)) Shared;
  shared_->jobs = jobs;
  for (sem_t* one : {&shared_->ready, &shared_->go, &shared_->stop, &shared_->reached}) {
    sem_init(one, /*pshared=*/1, 0);
  }
}

Board::Board(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat info {};
  require(file >= 0 && fstat(file, &info) == 0, "cannot open " + path);
  bytes_ = static_cast<std::size_t>(info.st_size);
  require(bytes_ >= sizeof(Shared), path + " is no board");
  shared_ = static_cast<Shared*>(map_file(file, bytes_, path));
  require(bytes_ == bytes_for(shared_->jobs), path + " is a board of another version");
}

Board::~Board() { munmap(shared_, bytes_); }

bool Board::wait(sem_t* what, std::int64_t at_most_ms) {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += at_most_ms / 1000;
  until.tv_nsec += at_most_ms % 1000 * 1'000'000;
  if (until.tv_nsec >= 1'000'000'000) {
    until.tv_nsec -= 1'000'000'000;
    until.tv_sec += 1;
  }
  int result = 0;
  do {
    result = sem_clockwait(what, CLOCK_MONOTONIC, &until);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void Board::go(int processes) {
  for (int i = 0; i < processes; ++i) sem_post(&shared_->go);
}

void Board::stop(int processes) {
  for (int i = 0; i < processes; ++i) sem_post(&shared_->stop);
}

void Board::wait_go() {
  while (sem_wait(&shared_->go) != 0) {
  }
}

void Board::wait_stop() {
  while (sem_wait(&shared_->stop) != 0) {
  }
}

void Board::handler_begins() {
  const std::uint64_t now = shared_->running.fetch_add(1) + 1;
  std::uint64_t most = shared_->most_running.load(std::memory_order_relaxed);
  while (now > most && !shared_->most_running.compare_exchange_weak(most, now)) {
  }
}

void Board::handler_succeeds(std::uint64_t job) {
  if (job >= shared_->jobs) {
    shared_->unknown.fetch_add(1);
    return;
  }
  const std::uint64_t bit = std::uint64_t{1} << (job % 64);
  if ((marks()[job / 64].fetch_or(bit) & bit) != 0) {
    shared_->doubled.fetch_add(1);
    return;
  }
  if (shared_->finished.fetch_add(1) + 1 == shared_->target.load()) sem_post(&shared_->reached);
}

}  // namespace rota::bench
