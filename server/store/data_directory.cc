// SPDX-License-Identifier: Apache-2.0
#include "store/data_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

namespace rota::store {

namespace {

constexpr char kLockFile[] = "lock";
constexpr char kIdentityFile[] = "store_id";
constexpr char kIdentityTitle[] = "rota store";

Failure config(std::string text) { return {FailureKind::kConfig, std::move(text)}; }

// Creates the directory and missing parents, each for its owner only.
std::optional<Failure> make_directory(const std::shared_ptr<OwnFiles>& files,
                                      const std::string& path) {
  const std::filesystem::path whole(path);
  std::filesystem::path part;
  for (const auto& segment : whole) {
    part /= segment;
    if (files->mkdir(part, 0700) != 0) {
      if (errno == EEXIST) continue;
      if (errno == EROFS || errno == EACCES || errno == EPERM || errno == ENOTDIR) {
        return config("data directory " + path + ": cannot create " + part.string() + ": " +
                      std::strerror(errno));
      }
      return system_failure(errno, "create directory " + part.string());
    }
    const std::filesystem::path parent = part.has_parent_path() ? part.parent_path() : ".";
    const OwnFile above(files, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!above.ok() || files->fsync(above.fd()) != 0) {
      return system_failure(errno, "sync directory " + parent.string());
    }
  }
  return std::nullopt;
}

// A typing slip must not turn somebody's home directory into a data directory.
std::optional<Failure> refuse_foreign(int directory, const std::string& path) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* raw = copy < 0 ? nullptr : ::fdopendir(copy);
  if (raw == nullptr) return system_failure(errno, "list " + path);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(raw, &::closedir);
  std::string foreign;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == kLockFile || name == kIdentityFile || name == "db") return std::nullopt;
    if (name != "." && name != ".." && name != "lost+found") foreign = name;
  }
  if (foreign.empty()) return std::nullopt;
  return config("data directory " + path + " holds other files (" + foreign +
                ") and no Rota store: name an empty directory");
}

std::string holder_of(int lock) {
  char text[32] = {};
  const ssize_t n = ::pread(lock, text, sizeof text - 1, 0);
  long pid = 0;
  if (n > 0 && std::sscanf(text, "%ld", &pid) == 1 && pid > 0) {
    return "process " + std::to_string(pid);
  }
  return "another process";
}

std::optional<Failure> take_lock(const OwnFile& file, const std::string& path) {
  const int lock = file.fd();
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Failure{FailureKind::kInUse, "data directory " + path + " is in use by " +
                                              holder_of(lock) + " (its lock file says so)"};
    }
    return system_failure(errno, "lock " + path + "/" + kLockFile);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock, 0) != 0 ||
      file.files().pwrite(lock, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return system_failure(errno, "write " + path + "/" + kLockFile);
  }
  return std::nullopt;
}

std::string text_of(const StoreIdentity& identity) {
  return std::string(kIdentityTitle) + "\nformat " + std::to_string(identity.format) + "\nid " +
         identity.store_id + "\n";
}

std::optional<Failure> make_private(int directory, const std::string& path) {
  struct stat status {};
  if (::fstat(directory, &status) != 0) return system_failure(errno, "stat " + path);
  if ((status.st_mode & 077U) == 0) return std::nullopt;
  if (::fchmod(directory, 0700) == 0) return std::nullopt;
  return config("data directory " + path +
                " can be read by others and is not ours to change: give it to the user of the "
                "server, with mode 0700");
}

}  // namespace

std::optional<std::string> network_file_system(std::uint64_t type) {
  struct Type {
    std::uint32_t number;
    const char* name;
  };
  static constexpr std::array<Type, 17> kTypes{{{0x6969, "NFS"},
                                                {0x517B, "SMB"},
                                                {0xFE534D42, "SMB2"},
                                                {0xFF534D42, "CIFS"},
                                                {0x564C, "NCP"},
                                                {0x5346414F, "AFS"},
                                                {0x6B414653, "AFS"},
                                                {0x73757245, "Coda"},
                                                {0x00C36400, "Ceph"},
                                                {0x0BD00BD0, "Lustre"},
                                                {0x01021997, "9P"},
                                                {0x65735546, "FUSE"},
                                                {0x01161970, "GFS2"},
                                                {0x7461636F, "OCFS2"},
                                                {0x47504653, "GPFS"},
                                                {0x19830326, "BeeGFS"},
                                                {0xAAD7AAEA, "PanFS"}}};
  for (const Type& one : kTypes) {
    if (one.number == static_cast<std::uint32_t>(type)) return one.name;
  }
  return std::nullopt;
}

std::variant<DataDirectory, Failure> DataDirectory::open(const Options& options) {
  const std::string& path = options.path;
  if (path.empty()) return config("no data directory is named");
  if (options.create) {
    if (auto failure = make_directory(options.files, path)) return *failure;
  }
  OwnFile directory(options.files, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!directory.ok()) {
    const std::string what = "data directory " + path;
    if (errno == EIO) return system_failure(errno, "open " + what);
    return config(what + ": " + std::strerror(errno));
  }
  struct statfs file_system {};
  if (::fstatfs(directory.fd(), &file_system) != 0) return system_failure(errno, "statfs " + path);
  const auto network = network_file_system(static_cast<std::uint64_t>(file_system.f_type));
  if (network && !options.allow_network_file_system) {
    return config("data directory " + path + " is on a network file system (" + *network +
                  "), whose locks and syncs promise less than an acknowledged write needs: name a "
                  "directory on a local disk, or accept the risk with --allow-network-file-system");
  }
  if (auto failure = refuse_foreign(directory.fd(), path)) return *failure;
  OwnFile lock(options.files, path + "/" + kLockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
               0600);
  if (!lock.ok()) {
    if (errno == EACCES || errno == EROFS || errno == EPERM) {
      return config("data directory " + path + " cannot be written: " + std::strerror(errno));
    }
    return system_failure(errno, "open " + path + "/" + kLockFile);
  }
  if (auto failure = take_lock(lock, path)) return *failure;
  if (auto failure = make_private(directory.fd(), path)) return *failure;
  return DataDirectory(path, options.files, std::move(directory), std::move(lock));
}

bool DataDirectory::has_database() const {
  struct stat status {};
  return ::stat((database_path() + "/CURRENT").c_str(), &status) == 0;
}

std::variant<std::optional<StoreIdentity>, Failure> DataDirectory::read_identity() const {
  const std::string path = file(kIdentityFile);
  const OwnFile in(files_, path, O_RDONLY | O_CLOEXEC);
  if (!in.ok()) {
    if (errno == ENOENT) return std::optional<StoreIdentity>();
    return system_failure(errno, "open " + path);
  }
  char text[512];
  const ssize_t n = files_->pread(in.fd(), text, sizeof text, 0);
  if (n < 0) return system_failure(errno, "read " + path);
  const std::string found(text, static_cast<std::size_t>(n));
  std::istringstream lines(found);
  std::string title;
  std::string word;
  StoreIdentity identity;
  std::getline(lines, title);
  lines >> word >> identity.format >> word >> identity.store_id;
  // What is not to the letter what was once written here was not written here.
  if (text_of(identity) != found) {
    return Failure{FailureKind::kDamage, path + " cannot be read as a store's identity"};
  }
  return std::optional(std::move(identity));
}

std::optional<Failure> DataDirectory::write_identity(const StoreIdentity& identity) const {
  const std::string path = file(kIdentityFile);
  const std::string draft = path + ".new";
  const std::string text = text_of(identity);
  const OwnFile out(files_, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (!out.ok()) return system_failure(errno, "create " + draft);
  if (files_->pwrite(out.fd(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      files_->fsync(out.fd()) != 0) {
    return system_failure(errno, "write " + draft);
  }
  if (files_->rename(draft, path) != 0) return system_failure(errno, "rename " + draft);
  return sync_entries();
}

std::optional<std::uint64_t> free_bytes_at(const std::string& path) {
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

std::optional<Failure> sync_directory(const std::string& path) {
  return sync_directory(system_files(), path);
}

std::optional<Failure> DataDirectory::sync_entries() const {
  if (files_->fsync(directory_.fd()) != 0) return system_failure(errno, "sync directory " + path_);
  return std::nullopt;
}

std::string new_store_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    programming_error("no random bytes from the kernel");
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0fU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3fU) | 0x80U);
  std::string id;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id.push_back('-');
    constexpr char kHex[] = "0123456789abcdef";
    id.push_back(kHex[bytes[i] >> 4U]);
    id.push_back(kHex[bytes[i] & 0xfU]);
  }
  return id;
}

}  // namespace rota::store
