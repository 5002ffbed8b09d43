// SPDX-License-Identifier: Apache-2.0
//
// The data directory: who may use it, and the small files beside the database.
//
//   lock       held by flock() while a server runs; holds its process id
//   store_id   format version and id of the store; must agree with the database
//   acked_seq  see acked_seq.h
//   db/        RocksDB
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "store/failure.h"
#include "store/own_files.h"

namespace rota::store {

// The name of a network file system, by the type number of statfs(2); nothing for a local one.
// FUSE counts as one: a lock or a sync on it means whatever the program behind it does.
std::optional<std::string> network_file_system(std::uint64_t type);

struct StoreIdentity {
  std::uint32_t format = 0;
  std::string store_id;
};

// A directory held by this process. Movable; releases the lock when it goes.
class DataDirectory {
 public:
  struct Options {
    std::string path;
    bool create = true;
    bool allow_network_file_system = false;
    std::shared_ptr<OwnFiles> files = system_files();
  };
  // Creates the directory if it may, checks the file system, takes the lock, and makes it readable
  // by its owner only (0700). Refuses: kInUse with the holder's process id; kConfig for a network
  // file system, a path that is no directory, and a directory that holds other files and no store.
  static std::variant<DataDirectory, Failure> open(const Options& options);

  const std::string& path() const { return path_; }
  const std::shared_ptr<OwnFiles>& files() const { return files_; }
  std::string database_path() const { return path_ + "/db"; }
  // Whether RocksDB was ever created here.
  bool has_database() const;

  // nullopt when the file does not exist; kDamage when it cannot be read as one.
  std::variant<std::optional<StoreIdentity>, Failure> read_identity() const;
  // Replaces the file as a whole; durable when it returns nothing.
  std::optional<Failure> write_identity(const StoreIdentity& identity) const;

  std::string file(const char* name) const { return path_ + "/" + name; }
  // Makes created and renamed entries durable.
  std::optional<Failure> sync_entries() const;

 private:
  DataDirectory(std::string path, std::shared_ptr<OwnFiles> files, OwnFile directory, OwnFile lock)
      : path_(std::move(path)),
        files_(std::move(files)),
        directory_(std::move(directory)),
        lock_(std::move(lock)) {}

  std::string path_;
  std::shared_ptr<OwnFiles> files_;
  OwnFile directory_;
  OwnFile lock_;  // closed first; the kernel releases the lock, as it does when we are killed
};

// What the file system of a directory has left for this process; nullopt when it does not say.
std::optional<std::uint64_t> free_bytes_at(const std::string& path);

// Makes entries of any directory durable that were created, renamed or removed.
std::optional<Failure> sync_directory(const std::string& path);

// A random (version 4) UUID.
std::string new_store_id();

}  // namespace rota::store
