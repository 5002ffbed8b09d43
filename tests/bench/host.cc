// SPDX-License-Identifier: Apache-2.0
//
// rota-bench-host: what the machine gives without Rota, so that a figure of Rota can be told from a
// figure of the machine. Job lives in bare RocksDB (three puts and two deletes each, a hundred
// lives to a synced batch, its default settings), a sync of 4 KiB, and a load that no cache has.
#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kLivesPerBatch = 100;
constexpr std::uint64_t kLag = 1'000;  // lives between a job's put and its delete

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

void require(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

std::string key(char kind, std::uint64_t number) {
  char text[48];
  std::snprintf(text, sizeof text, "queue:bench:%c:%010llu", kind,
                static_cast<unsigned long long>(number));
  return text;
}

double lives_per_second(const std::string& directory, double seconds) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status open = rocksdb::DB::Open(options, directory, &opened);
  require(open.ok(), open.ToString());
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::WriteOptions durable;
  durable.sync = true;
  const std::string body(200, 'b');
  const std::string small(16, 's');
  std::uint64_t lives = 0;
  const auto begin = Steady::now();
  while (seconds_since(begin) < seconds) {
    rocksdb::WriteBatch batch;
    for (int i = 0; i < kLivesPerBatch; ++i, ++lives) {
      batch.Put(key('b', lives), body);
      batch.Put(key('w', lives), small);
      batch.Put(key('l', lives), small);
      if (lives < kLag) continue;
      batch.Delete(key('b', lives - kLag));
      batch.Delete(key('w', lives - kLag));
    }
    const rocksdb::Status written = db->Write(durable, &batch);
    require(written.ok(), written.ToString());
  }
  return static_cast<double>(lives) / seconds_since(begin);
}

double sync_us(const std::string& path, int syncs) {
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  require(file >= 0, "cannot make " + path);
  const std::string block(4096, 'x');
  std::vector<double> took;
  for (int i = 0; i < syncs; ++i) {
    require(::write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()),
            "cannot write " + path);
    const auto begin = Steady::now();
    require(::fdatasync(file) == 0, "cannot sync " + path);
    took.push_back(seconds_since(begin) * 1e6);
  }
  ::close(file);
  std::nth_element(took.begin(), took.begin() + syncs / 2, took.end());
  return took[static_cast<std::size_t>(syncs) / 2];
}

// Each load names the next one, in one cycle through all cells (Sattolo's shuffle).
double load_ns(std::size_t cells, int loads) {
  std::vector<std::uint32_t> next(cells);
  std::iota(next.begin(), next.end(), 0U);
  std::mt19937_64 random(1);
  for (std::size_t i = cells - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  std::uint32_t at = 0;
  const auto begin = Steady::now();
  for (int i = 0; i < loads; ++i) at = next[at];
  const double took = seconds_since(begin) * 1e9 / loads;
  require(at < cells, "a load led nowhere");
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  double seconds = 2;
  CLI::App app("Measures the machine: bare RocksDB, a sync, a load from memory.",
               "rota-bench-host");
  app.add_option("--directory", directory,
                 "Made for the measurement and removed after it, on the disk under test")
      ->required();
  app.add_option("--seconds", seconds, "Time for RocksDB")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  require(std::filesystem::create_directory(directory), directory + " exists already");
  const double lives = lives_per_second(directory + "/rocksdb", seconds);
  const double sync = sync_us(directory + "/sync", 1'000);
  const double load = load_ns(std::size_t{16} << 20U, 5'000'000);
  std::filesystem::remove_all(directory);
  std::printf("bare RocksDB %.0f lives/s, sync of 4 KiB %.0f us, load from 64 MiB %.0f ns\n", lives,
              sync, load);
  return 0;
}
