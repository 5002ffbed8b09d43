// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_open.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/log_scan.h"
#include "store/rocks_key.h"
#include "store/rocks_options.h"
#include "store/torn_manifest.h"
#include "store/watched_files.h"

namespace rota::store {

RocksDatabase::~RocksDatabase() {
  if (db == nullptr) return;
  if (state != nullptr) db->DestroyColumnFamilyHandle(state);
  if (payload != nullptr) db->DestroyColumnFamilyHandle(payload);
  db.reset();
}

rocksdb::ColumnFamilyHandle* RocksDatabase::family(core::Keyspace keyspace) const {
  return in_payload_family(keyspace) ? payload : state;
}

rocksdb::Status RocksDatabase::get_own(const std::string& key, const rocksdb::Snapshot* snapshot,
                                       std::string* value) const {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  return db->Get(options, state, key, value);
}

rocksdb::Status RocksDatabase::put_own(
    std::initializer_list<std::pair<std::string, std::string>> records) {
  rocksdb::WriteBatch batch;
  for (const auto& [key, value] : records) {
    rocksdb::Status status = batch.Put(state, key, value);
    if (status.ok() && key == commit_record_key()) status = batch.Put(payload, key, value);
    if (!status.ok()) return status;
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  return db->Write(options, &batch);
}

rocksdb::Status RocksDatabase::commit_of(rocksdb::ColumnFamilyHandle* family,
                                         std::optional<CommitRecord>* commit) const {
  commit->reset();
  std::string bytes;
  rocksdb::Status status = db->Get(rocksdb::ReadOptions(), family, commit_record_key(), &bytes);
  if (status.IsNotFound()) return rocksdb::Status::OK();
  if (!status.ok()) return status;
  *commit = decode_commit_record(bytes);
  return *commit ? status : rocksdb::Status::Corruption("the commit record fails its checksum");
}

// RocksDB tells of begin and end of a stall on the threads that made them, so the end can be told
// first, and the begin would then be the last that is heard. So it is asked while a stall is said
// to last.
rocksdb::WriteStallCondition RocksDatabase::stall() const {
  using Condition = rocksdb::WriteStallCondition;
  if (listener->stall() == Condition::kNormal) return Condition::kNormal;
  std::uint64_t value = 0;
  const auto holds = [&](const std::string& property) {
    return db->GetIntProperty(property, &value) && value != 0;
  };
  if (holds(rocksdb::DB::Properties::kIsWriteStopped)) return Condition::kStopped;
  if (holds(rocksdb::DB::Properties::kActualDelayedWriteRate)) return Condition::kDelayed;
  return Condition::kNormal;
}

bool RocksDatabase::has_rows() const {
  for (rocksdb::ColumnFamilyHandle* one : {state, payload}) {
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions(), one));
    it->SeekToFirst();
    if (it->Valid() || !it->status().ok()) return true;
  }
  return false;
}

namespace {

// The status of a failed open names no place; the files and the warning before it do.
// RocksDB opens whatever CURRENT names, and calls it an I/O error when that does not exist.
std::optional<Failure> check_current(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path + "/CURRENT", ignored)) return std::nullopt;  // to be created
  const std::string manifest = current_manifest(path);
  if (!manifest.empty() && std::filesystem::exists(manifest, ignored)) return std::nullopt;
  return Failure{FailureKind::kDamage,
                 path + "/CURRENT does not name a MANIFEST file that is there" +
                     (manifest.empty() ? "" : ": " + manifest + " is missing")};
}

// A table that lacks its end, whose last bytes are a number that RocksDB gives it, as the offset at
// which it ends. RocksDB names the list of files for some of them.
LogPlace cut_off_table(rocksdb::FileSystem& files, const std::string& path) {
  constexpr std::uint64_t kMagic = 0x88e241b785f4cff7;
  const rocksdb::IOOptions options;
  std::vector<std::string> names;
  auto status = files.GetChildren(path, options, &names, nullptr);
  if (!status.ok()) return {{}, rocks_failure(status, "list " + path)};
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!name.ends_with(".sst")) continue;
    const std::string file = path + "/" + name;
    std::uint64_t size = 0;
    std::uint64_t magic = 0;
    char bytes[sizeof magic];
    rocksdb::Slice end;
    std::unique_ptr<rocksdb::FSRandomAccessFile> in;
    status = files.GetFileSize(file, options, &size, nullptr);
    if (status.ok() && size < sizeof magic) return {LogDamage{file, size}, {}};
    if (status.ok()) status = files.NewRandomAccessFile(file, {}, &in, nullptr);
    if (status.ok()) {
      status = in->Read(size - sizeof magic, sizeof magic, options, &end, bytes, nullptr);
    }
    if (!status.ok()) return {{}, rocks_failure(status, "read " + file)};
    for (std::size_t i = 0; i < end.size(); ++i) {
      magic |= static_cast<std::uint64_t>(static_cast<unsigned char>(end[i])) << (8 * i);
    }
    if (magic != kMagic) return {LogDamage{file, size}, {}};
  }
  return {};
}

void explain_damage(rocksdb::FileSystem& files, const std::string& path, const DamageLogger& log,
                    const LogReplay& replay, Failure* failure) {
  if (failure->kind != FailureKind::kDamage) return;
  if (!replay.gap().empty()) failure->text.append("; ").append(replay.gap());
  auto place = find_damage_in_logs(files, path);
  if (place.unreadable) {
    *failure = std::move(*place.unreadable);
    return;
  }
  if (place.damage) {
    failure->text.append("; first bad record in ")
        .append(place.damage->file)
        .append(" at offset ")
        .append(std::to_string(place.damage->offset));
  } else {
    // The fault may be that this one lacks its end, which RocksDB takes for a crash.
    failure->text.append("; its files are listed in ").append(current_manifest(path));
    if (failure->text.find(".sst") == std::string::npos) {
      auto table = cut_off_table(files, path);
      if (table.unreadable) {
        *failure = std::move(*table.unreadable);
        return;
      }
      if (table.damage) {
        failure->text.append("; the table ").append(table.damage->file).append(" lacks its end");
      }
    }
  }
  const std::string warning = log.damage();
  if (!warning.empty()) failure->text.append(" (").append(warning).append(")");
}

}  // namespace

std::unique_ptr<RocksDatabase> open_rocks(const RocksOpenOptions& options,
                                          std::shared_ptr<rocksdb::FileSystem> file_system,
                                          std::optional<Failure>* failure) {
  *failure = check_current(options.path);
  if (*failure) return nullptr;
  auto opened = std::make_unique<RocksDatabase>();
  opened->health = std::make_shared<Health>(options.on_fatal);
  opened->env = rocksdb::NewCompositeEnv(watch_files(file_system, opened->health));
  opened->listener = std::make_shared<RocksListener>(opened->health);
  opened->replay =
      options.replay ? options.replay : std::make_shared<LogReplay>(file_system, options.path);

  rocksdb::DBOptions db_options =
      database_options(options.sizes, opened->env.get(), opened->listener);
  if (options.replay) db_options.wal_filter = opened->replay.get();
  if (options.logs == LogMode::kUpToDamage) {
    db_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  }
  if (options.logs == LogMode::kNone) {
    opened->replay->stop_at_once();
    db_options.wal_filter = opened->replay.get();
    // Not kSkipAnyCorruptedRecords, which never gets past a record of a recycled log.
    db_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  }
  db_options.create_if_missing = options.create && !options.read_only;
  db_options.create_missing_column_families = db_options.create_if_missing;
  std::shared_ptr<rocksdb::Logger> log_file;
  rocksdb::Status status = opened->env->CreateDirIfMissing(options.path);
  if (status.ok()) status = rocksdb::CreateLoggerFromOptions(options.path, db_options, &log_file);
  if (!status.ok()) {
    *failure = rocks_failure(status, "open " + options.path);
    if (const auto first = opened->health->first()) *failure = first;
    return nullptr;
  }
  const auto log = std::make_shared<DamageLogger>(std::move(log_file));
  db_options.info_log = log;

  const FamilyOptions families = family_options(options.sizes);
  const std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
      {rocksdb::kDefaultColumnFamilyName, families.state}, {kPayloadFamily, families.payload}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  status = options.read_only
               ? rocksdb::DB::OpenForReadOnly(db_options, options.path, descriptors, &handles, &db)
               : rocksdb::DB::Open(db_options, options.path, descriptors, &handles, &db);
  if (status.ok()) {
    opened->db.reset(db);
    opened->state = handles[0];
    opened->payload = handles[1];
  } else {
    *failure = rocks_failure(status, "open " + options.path);
    // The list of files lacks what the creation wrote there.
    if (status.IsInvalidArgument() && !options.create) (*failure)->kind = FailureKind::kDamage;
    if (const auto first = opened->health->first()) *failure = first;
  }
  // What RocksDB made of logs that we could not read is not known to be right.
  if (const auto& unreadable = opened->replay->unreadable()) *failure = unreadable;
  if (!*failure) return opened;
  explain_damage(*file_system, options.path, *log, *opened->replay, &**failure);
  return nullptr;
}

}  // namespace rota::store
