// SPDX-License-Identifier: Apache-2.0
//
// A disk that fails: the real file system, whose Nth operation is refused or is the last one before
// the power goes. It knows which bytes and which directory entries were synced and takes the others
// back when the power goes, as a disk may.
//
// Used in a process of its own, which ends with the power. What must be known afterwards stands in
// a DiskFacts that the caller puts into memory shared with its parent.
#pragma once

#include <rocksdb/file_system.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rota::faults {

enum class Op : std::uint8_t {
  kCreate,
  kAppend,
  kSync,
  kSyncDirectory,
  kRename,
  kDelete,
  kOpen,
  kRead,
};
inline constexpr std::size_t kOps = 8;
const char* op_name(Op op);

// kKilled: the process ends, and what it wrote stays, synced or not.
enum class Fault : std::uint8_t { kNone, kIo, kNoSpace, kPowerLoss, kKilled };

struct DiskPlan {
  Fault fault = Fault::kNone;
  Op op = Op::kAppend;     // whose nth call fails; power loss and kill count calls of all kinds
  std::uint64_t nth = 0;   // from 1
  bool lasting = false;    // and every later one of that kind; no space: of all that need space
  std::uint64_t seed = 1;  // decides what of the unsynced survives
  bool any_op = false;     // no matter which: nth counts all calls; no space: all that need space
  std::string file;        // the end of a path: calls for other files are not counted, nor refused
};

struct DiskFacts {
  std::array<std::atomic<std::uint64_t>, kOps> calls{};
  std::atomic<std::uint64_t> all_calls{0};
  std::atomic<std::uint64_t> space_calls{0};   // of those that need space
  std::atomic<std::uint64_t> fired{0};         // calls that were refused, or the power loss
  std::atomic<std::uint64_t> second_syncs{0};  // of a file whose sync had failed
  std::array<char, 256> file{};                // of the first call that was refused
};

// The exit codes of a process whose power went, and of one that was killed.
inline constexpr int kPowerLost = 99;
inline constexpr int kKilled = 98;

class FaultDisk final : public rocksdb::FileSystemWrapper {
 public:
  // `graveyard`: a folder on the same file system for what was deleted and could come back. What a
  // process that was killed had not synced stands there too, and is still to be lost.
  FaultDisk(DiskPlan plan, std::string graveyard, DiskFacts* facts);
  const char* Name() const override { return "rota.fault_disk"; }

  // Takes back what was not synced, by the plan's seed, and lets no operation through any more: the
  // threads of RocksDB that come here wait for the end of the process.
  void cut_power();

  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus Truncate(const std::string& name, std::size_t size,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* dbg) override;
  // A directory that is lost takes along what is in it.
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* dbg) override;

 private:
  friend class FaultWritable;
  friend class FaultRandom;
  friend class FaultSequential;
  friend class FaultDirectory;
  friend class FaultFiles;

  struct File {
    std::uint64_t size = 0;
    std::uint64_t synced = 0;
    bool sync_failed = false;
  };
  // Bytes written into a file that is not only appended to.
  struct Patch {
    std::uint64_t offset = 0;
    std::string before;  // what they replaced
    std::string after;
    std::uint64_t size_before = 0;  // of the file
  };
  struct PatchedFile {
    std::vector<Patch> unsynced;
    bool sync_failed = false;
  };
  // A change of a directory that no sync of that directory has made durable; undone from the last
  // one backwards.
  struct Entry {
    enum class Kind { kCreated, kRenamed, kDeleted } kind{};
    std::string name;
    std::string to;     // of a rename
    std::string saved;  // what stood there before, in the graveyard; empty when nothing did
  };

  // All below hold the mutex. OK, or the refusal of this call.
  rocksdb::IOStatus step(Op op, const std::string& file);
  bool is_hit(Op op, std::uint64_t nth);
  void cut_power_locked();
  void save_unsynced() const;
  void load_unsynced();
  void undo(const Entry& entry);
  std::string bury(const std::string& name, bool keep_name);
  rocksdb::IOStatus append(const std::string& name, const rocksdb::Slice& data,
                           rocksdb::FSWritableFile* file, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* dbg);
  rocksdb::IOStatus sync(const std::string& name, rocksdb::FSWritableFile* file,
                         const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg);
  rocksdb::IOStatus sync_directory(const std::string& name, rocksdb::FSDirectory* directory,
                                   const rocksdb::IOOptions& options, rocksdb::IODebugContext* dbg);
  std::uint64_t random();

  const DiskPlan plan_;
  const std::string graveyard_;
  DiskFacts* const facts_;
  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::map<std::string, PatchedFile> patched_;
  std::vector<Entry> entries_;
  std::uint64_t buried_ = 0;
  std::uint64_t random_;
};

}  // namespace rota::faults
