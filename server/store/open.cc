// SPDX-License-Identifier: Apache-2.0
#include "store/open.h"

#include <chrono>
#include <utility>
#include <variant>

#include "store/acked_seq.h"
#include "store/data_directory.h"
#include "store/kept_logs.h"
#include "store/log_scan.h"
#include "store/own_files.h"
#include "store/rocks_key.h"
#include "store/rocks_open.h"
#include "store/rocks_store.h"
#include "store/space_watch.h"
#include "store/store_record.h"
#include "store/torn_manifest.h"
#include "store/upgrade.h"

namespace rota::store {

namespace {

constexpr char kWitnessFile[] = "acked_seq";

// The steps of one open, in order; each returns what stops it. Members are what is known so far.
class Opening {
 public:
  Opening(std::shared_ptr<rocksdb::FileSystem> file_system, const OpenOptions& options,
          DataDirectory directory)
      : file_system_(std::move(file_system)),
        options_(options),
        directory_(std::move(directory)),
        space_(
            options.sizes, Ballast(directory_.path(), options.sizes.ballast_bytes),
            options.free_bytes ? options.free_bytes
                               : [path = directory_.path()] { return free_bytes_at(path); }) {}

  std::optional<Failure> run() {
    if (auto failure = look_at_files()) return failure;
    if (auto failure = look_at_space()) return failure;
    if (auto failure = open_database()) return failure;
    if (auto failure = read_own_records()) return failure;
    if (creating_) return create();
    if (auto failure = check_identity()) return failure;
    if (auto failure = check_witness()) return failure;
    if (auto failure = note_loss()) return failure;
    return begin_epoch();
  }

  std::unique_ptr<core::ShardStore> finish(core::Executor& executor, StoreInfo* info) {
    info->store_id = record_.store_id;
    info->format = record_.format;
    info->created = creating_;
    info->recovered_seq = commit_.seq;
    info->acked_seq = known_acked_;
    info->loss_accepted = loss_accepted_;
    info->torn_log = torn_log_;
    info->gave_up_ballast = space_.gave_up_ballast();
    if (!options_.read_only) {
      if (const auto failure = space_.tend_ballast()) info->no_ballast = failure->text;
    }
    Health& health = *database_->health;
    RocksStore::Parts parts{
        std::move(directory_), std::move(database_), std::move(*acked_),       record_, commit_,
        options_.read_only,    std::move(space_),    options_.witness_interval};
    auto store = std::make_unique<RocksStore>(std::move(parts), executor);
    health.arm();
    return store;
  }
  // A failure of a file or of a RocksDB thread during the open.
  std::optional<Failure> background_failure() const {
    return database_ ? database_->health->first() : std::nullopt;
  }

 private:
  std::optional<Failure> look_at_space() {
    if (options_.read_only) return std::nullopt;
    return space_.make_room(directory_.path());
  }

  Failure damage(std::string text) const {
    return {FailureKind::kDamage, directory_.path() + ": " + std::move(text)};
  }

  std::optional<Failure> look_at_files() {
    auto identity = directory_.read_identity();
    if (auto* failure = std::get_if<Failure>(&identity)) return std::move(*failure);
    identity_ = std::get<std::optional<StoreIdentity>>(std::move(identity));
    if (identity_ && identity_->format > kStoreFormat) {
      return newer_format(directory_, identity_->format);
    }
    if (identity_ && !directory_.has_database()) {
      return damage("the store " + identity_->store_id +
                    " was here, but its database (db/CURRENT) is missing");
    }
    // The identity file is the last step of a creation. Without it, either there is nothing yet or
    // a creation was cut short; which of the two the database tells.
    creating_ = !identity_;
    if (!creating_) return std::nullopt;
    if (auto failure = refuse_second_creation()) return failure;
    if (options_.create && !options_.read_only) return std::nullopt;
    return Failure{FailureKind::kConfig,
                   "data directory " + directory_.path() + " holds no Rota store"};
  }

  // A creation that was cut short has acknowledged nothing. Where something was, the file store_id
  // is what is missing, and nothing may be written over the rest. Damaged files say nothing here;
  // they are met again.
  std::optional<Failure> refuse_second_creation() const {
    core::CommitSeq seq = 0;
    auto witness =
        AckedSeq::open(directory_.file(kWitnessFile), /*create=*/false, directory_.files());
    if (const auto* acked = std::get_if<AckedSeq>(&witness)) seq = acked->value();
    if (auto* failure = std::get_if<Failure>(&witness)) {
      if (failure->kind != FailureKind::kDamage) return std::move(*failure);
    }
    if (seq == 0 && directory_.has_database()) {
      RocksOpenOptions rocks;
      rocks.path = directory_.database_path();
      rocks.sizes = options_.sizes;
      std::optional<Failure> stopped;
      seq = last_good(rocks, &stopped).value_or(0);
      if (stopped) return stopped;
    }
    if (seq == 0) return std::nullopt;
    return damage("the file store_id is missing, but there were batches up to " +
                  std::to_string(seq));
  }

  std::optional<Failure> open_database() {
    if (!creating_) {
      if (auto failure = open_witness(/*create=*/false)) return failure;
    }
    RocksOpenOptions rocks;
    rocks.path = directory_.database_path();
    rocks.create = creating_;
    rocks.read_only = options_.read_only;
    rocks.sizes = options_.sizes;
    rocks.on_fatal = options_.on_fatal;
    manifest_ = current_manifest(rocks.path);
    auto failure = open_rocks_here(rocks);
    if (!failure || failure->kind != FailureKind::kDamage || creating_) return failure;
    std::optional<Failure> unreadable;
    const auto torn = TornManifest::find(*file_system_, rocks.path, &unreadable);
    if (!torn) return unreadable ? std::move(unreadable) : std::move(failure);
    return open_without_tail(*torn, rocks, std::move(*failure));
  }

  // A record that had been synced is not to be left out. It shows in what is missing without it,
  // and an open that only looks does not remove the files that the record named.
  std::optional<Failure> open_without_tail(const TornManifest& torn, RocksOpenOptions rocks,
                                           Failure damage) {
    const auto whole = std::exchange(file_system_, torn.shortened(file_system_));
    rocks.read_only = true;
    auto failure = open_rocks_here(rocks);
    if (!failure) {
      const auto good = last_commit(*database_);
      if (!good || *good < acked_->value()) failure = damage;
      if (auto first = database_->health->first()) failure = std::move(first);
      database_.reset();
    }
    if (!failure && !options_.read_only) {
      failure = keep_logs(directory_.path(), {torn.file()}, kTornPrefix + std::string("manifest"),
                          directory_.files());
    }
    if (!failure) {
      rocks.read_only = options_.read_only;
      failure = open_rocks_here(rocks);
    }
    if (!failure) {
      torn_log_ = torn_log_.empty() ? torn.text() : torn.text() + "; " + torn_log_;
      return std::nullopt;
    }
    file_system_ = whole;
    // What the shortened file lacks is no news: the damage is the cause.
    return failure->kind == FailureKind::kDamage ? std::move(damage) : std::move(failure);
  }

  // What the tables hold, before anything is replayed on top of them; rocks.replay looks at the
  // logs meanwhile. Changes nothing.
  std::optional<Failure> look_at_tables(RocksOpenOptions rocks) {
    rocks.read_only = true;
    rocks.on_fatal = nullptr;
    rocks.logs = LogMode::kNone;
    std::optional<Failure> failure;
    const auto database = open_rocks(rocks, file_system_, &failure);
    if (!failure) failure = database->health->first();
    if (failure) return failure;
    auto place = damage_within(*file_system_, current_manifest(rocks.path));
    if (place.unreadable) return std::move(place.unreadable);
    if (place.damage) {
      return damage("first bad record in " + place.damage->file + " at offset " +
                    std::to_string(place.damage->offset) +
                    "; what follows is whole, so it had been synced");
    }
    std::string bytes;
    auto status = database->get_own(store_record_key(), nullptr, &bytes);
    const auto record = status.ok() ? decode_store_record(bytes) : std::nullopt;
    if (status.IsNotFound()) status = rocksdb::Status::OK();
    std::optional<CommitRecord> state;
    std::optional<CommitRecord> payload;
    if (status.ok()) status = database->commit_of(database->state, &state);
    if (status.ok()) status = database->commit_of(database->payload, &payload);
    // RocksDB gets over a filter that cannot be read; no error of a file is passed over here.
    if (auto first = database->health->first()) return first;
    if (!status.ok()) return rocks_failure(status, "read the commit records");
    const bool two = !record || record->format >= kFormatOfTwoCommitRecords;
    tables_ = two ? std::min(state, payload) : state;  // absent is the least
    return std::nullopt;
  }

  std::optional<Failure> open_rocks_here(RocksOpenOptions rocks) {
    rocks.replay = std::make_shared<LogReplay>(file_system_, rocks.path);
    if (!creating_) {
      if (auto failure = look_at_tables(rocks)) return failure;
      // RocksDB takes a wrong length for the end of the log and would go on without a word.
      const auto& verdict = rocks.replay->verdict();
      if (verdict && verdict->good_after) {
        return open_up_to_damage(
            rocks, damage("first bad record in " + verdict->damage.file + " at offset " +
                          std::to_string(verdict->damage.offset)));
      }
      rocks.replay->go_on_after(tables_);
    }
    std::optional<Failure> failure;
    database_ = open_rocks(rocks, file_system_, &failure);
    if (!failure) {
      if (const auto& end = rocks.replay->cut_off()) torn_log_ = text_of_cut_off(*end);
      return failure;
    }
    if (failure->kind != FailureKind::kDamage || creating_) return failure;
    return open_up_to_damage(rocks, std::move(*failure));
  }

  // RocksDB takes a last batch that the file does not hold to its end for torn, and refuses one
  // whose bytes are wrong. It may be either a torn one too, whose pages came to the disk in another
  // order, or damage in what was synced; which of the two shows in what follows, and in the
  // witness.
  std::optional<Failure> open_up_to_damage(RocksOpenOptions rocks, Failure damage) {
    const LogReplay& replay = *rocks.replay;
    const std::uint64_t first_log = replay.first_log();
    const std::optional<LogVerdict> verdict = replay.verdict();
    const bool gap = !replay.gap().empty();
    if (!verdict && !gap) return damage;  // not in a log
    if (replay.begin_is_missing()) return damage;
    rocks.logs = LogMode::kUpToDamage;
    std::optional<Failure> stopped;
    const auto good = last_good(rocks, &stopped);
    if (stopped) return stopped;
    if (!good) return damage;
    bool torn = false;
    if (*good < acked_->value()) {
      damage.text += acknowledged_text();
    } else if (!gap && verdict && verdict->good_after) {
      damage.text += "; what follows at offset " + std::to_string(verdict->good_after->offset) +
                     " of " + verdict->good_after->file +
                     " is whole, so the damaged batch had been "
                     "synced";
    } else {
      torn = !gap;
    }
    if (!torn && !accepted(*good)) return with_choices(std::move(damage), *good);
    if (!rocks.read_only) {
      const std::string name =
          (torn ? kTornPrefix + std::string("after-") : "loss-after-") + std::to_string(*good);
      auto logs = log_files(*file_system_, rocks.path, first_log);
      if (logs.failure) return std::move(logs.failure);
      if (auto failure = keep_logs(directory_.path(), logs.paths, name, directory_.files())) {
        return failure;
      }
      // Should this process end before the loss is dealt with, the next one is to refuse again.
      // Also when that is written already, by one that was killed before the sync.
      if (!torn && acked_->value() <= *good + 1) {
        if (auto failure = acked_->write(*good + 1)) return failure;
      }
    }
    rocks.replay = replay_after_tables(rocks.path);
    std::optional<Failure> failure;
    database_ = open_rocks(rocks, file_system_, &failure);
    if (failure) return failure;
    expected_seq_ = *good;
    if (torn) {
      torn_log_ = "the log " + verdict->damage.file + " ends at offset " +
                  std::to_string(verdict->damage.offset) + " in a torn batch after batch " +
                  std::to_string(*good) + ", which was never acknowledged and is left out";
    }
    return std::nullopt;
  }

  std::shared_ptr<LogReplay> replay_after_tables(const std::string& path) const {
    auto replay = std::make_shared<LogReplay>(file_system_, path);
    replay->go_on_after(tables_);
    return replay;
  }

  // How far the database goes when the logs are replayed up to the damage; changes nothing. Sets
  // *stopped when that cannot be said, for another reason than damage.
  std::optional<core::CommitSeq> last_good(RocksOpenOptions rocks,
                                           std::optional<Failure>* stopped) const {
    rocks.read_only = true;
    rocks.on_fatal = nullptr;
    rocks.replay = replay_after_tables(rocks.path);
    const auto database = open_rocks(rocks, file_system_, stopped);
    if (!database) {
      if ((*stopped)->kind == FailureKind::kDamage) stopped->reset();
      return std::nullopt;
    }
    const auto good = last_commit(*database);
    *stopped = database->health->first();
    return good;
  }

  // How far the database has come; nothing when that cannot be read, or when its families differ,
  // of which one has then lost something.
  static std::optional<core::CommitSeq> last_commit(const RocksDatabase& database) {
    std::string bytes;
    if (!database.get_own(store_record_key(), nullptr, &bytes).ok()) return std::nullopt;
    const auto record = decode_store_record(bytes);
    std::optional<CommitRecord> state;
    std::optional<CommitRecord> payload;
    if (!record || !database.commit_of(database.state, &state).ok() || !state) return std::nullopt;
    if (record->format < kFormatOfTwoCommitRecords) return state->seq;
    if (!database.commit_of(database.payload, &payload).ok()) return std::nullopt;
    return payload == state ? std::optional(state->seq) : std::nullopt;
  }

  // The witness may be a second old, so an acknowledged batch that a disk cut off looks alike.
  static std::string text_of_cut_off(const LogDamage& end) {
    return "the log " + end.file + " ends within a batch, at offset " + std::to_string(end.offset) +
           ": a write that was under way when the server ended, " +
           "which is left out; after an orderly stop, or when only the server was killed, this "
           "is " +
           "damage";
  }

  bool accepted(core::CommitSeq last_good_seq) const {
    return options_.accept_loss_after == last_good_seq;
  }

  std::string acknowledged_text() const {
    return "; batch " + std::to_string(acked_->value()) + " was acknowledged (file acked_seq)";
  }

  std::string logs_text() const {
    const std::string& files = database_->replay->files();
    return (files.empty() ? "; there were no logs" : "; its logs were " + files) +
           ", its files were listed in " + manifest_;
  }

  // What the operator can do. The number must be named, so that nobody gives up more than was said.
  Failure with_choices(Failure damage, core::CommitSeq last_good_seq) const {
    const std::string number = std::to_string(last_good_seq);
    damage.text += "; the last good batch is " + number;
    if (options_.accept_loss_after) {
      damage.text +=
          ", not " + std::to_string(*options_.accept_loss_after) + " as --accept-loss-after says";
    }
    damage.text +=
        ": restore a backup, or give up all that came later with --accept-loss-after=" + number;
    return damage;
  }

  std::optional<Failure> read_own_records() {
    std::string bytes;
    rocksdb::Status status = database_->get_own(store_record_key(), nullptr, &bytes);
    if (status.IsNotFound()) {
      if (creating_ && !database_->has_rows()) return std::nullopt;
      return damage("the database has rows but no store record");
    }
    if (!status.ok()) return rocks_failure(status, "read the store record");
    const auto record = decode_store_record(bytes);
    if (!record) return damage("the store record fails its checksum");
    std::optional<CommitRecord> commit;
    std::optional<CommitRecord> payload;
    status = database_->commit_of(database_->state, &commit);
    if (status.ok()) status = database_->commit_of(database_->payload, &payload);
    if (!status.ok()) return rocks_failure(status, "read the commit record");
    if (!commit) return damage("the database has a store record but no commit record");
    record_ = *record;
    commit_ = *commit;
    if (record_.format >= kFormatOfTwoCommitRecords && payload != commit) {
      const std::string other = payload ? "batch " + std::to_string(payload->seq) : "no batch";
      return damage("what is stored of payloads ends at " + other + ", the rest at batch " +
                    std::to_string(commit_.seq) + logs_text());
    }
    if (expected_seq_ && commit_.seq != *expected_seq_) {
      return damage("the database ends at batch " + std::to_string(commit_.seq) +
                    ", the logs are good up to batch " + std::to_string(*expected_seq_));
    }
    if (creating_ && commit_.seq > 0) {
      return damage("the file store_id is missing, but the database holds batches up to " +
                    std::to_string(commit_.seq));
    }
    return std::nullopt;
  }

  // Database first, witness next, identity last: a crash in between is finished by the next open.
  std::optional<Failure> create() {
    if (record_.store_id.empty()) record_ = {kStoreFormat, new_store_id(), 1};
    ++commit_.epoch;
    const auto status = database_->put_own(
        {{store_record_key(), encode(record_)}, {commit_record_key(), encode(commit_)}});
    if (!status.ok()) return rocks_failure(status, "write the store record");
    if (auto failure = open_witness(/*create=*/true)) return failure;
    return directory_.write_identity({record_.format, record_.store_id});
  }

  std::optional<Failure> check_identity() {
    if (record_.store_id != identity_->store_id) {
      return Failure{FailureKind::kConfig,
                     "data directory " + directory_.path() + ": the file store_id names store " +
                         identity_->store_id + ", the database is of store " + record_.store_id +
                         ": two copies were mixed, put the right files back together"};
    }
    if (options_.read_only && record_.format != kStoreFormat) {
      return Failure{FailureKind::kConfig,
                     "data directory " + directory_.path() + " (file store_id) has format " +
                         std::to_string(record_.format) + ", and a check does not upgrade it"};
    }
    return upgrade(directory_, *database_, &record_);
  }

  std::optional<Failure> open_witness(bool create) {
    auto opened = AckedSeq::open(directory_.file(kWitnessFile), create, directory_.files());
    if (auto* failure = std::get_if<Failure>(&opened)) return std::move(*failure);
    acked_.emplace(std::get<AckedSeq>(std::move(opened)));
    return create ? directory_.sync_entries() : std::nullopt;
  }

  std::optional<Failure> check_witness() {
    if (commit_.seq >= acked_->value()) return std::nullopt;
    if (accepted(commit_.seq)) {
      loss_accepted_ = !options_.read_only;
      return std::nullopt;
    }
    return with_choices(damage("acknowledged data is missing: the database ends at batch " +
                               std::to_string(commit_.seq) + acknowledged_text() + logs_text()),
                        commit_.seq);
  }

  // The witness then asks for one batch more than there is: an open refuses as before, by the same
  // number, up to the moment in which the first batch is committed, and not after it.
  std::optional<Failure> note_loss() {
    known_acked_ = acked_->value();
    if (!loss_accepted_) return std::nullopt;
    ++record_.incarnation;
    const auto status = database_->put_own({{store_record_key(), encode(record_)}});
    if (!status.ok()) return rocks_failure(status, "store the new incarnation");
    return acked_->lower(commit_.seq + 1);
  }

  // From here on nothing of an earlier epoch can be mistaken for ours.
  std::optional<Failure> begin_epoch() {
    if (options_.read_only) return std::nullopt;
    // Whoever gave store_id its name may have been killed before the sync.
    if (auto failure = directory_.sync_entries()) return failure;
    ++commit_.epoch;
    const auto status = database_->put_own({{commit_record_key(), encode(commit_)}});
    if (!status.ok()) return rocks_failure(status, "begin epoch " + std::to_string(commit_.epoch));
    return std::nullopt;
  }

  std::shared_ptr<rocksdb::FileSystem> file_system_;
  const OpenOptions& options_;
  DataDirectory directory_;
  SpaceWatch space_;
  std::optional<StoreIdentity> identity_;
  bool creating_ = false;
  std::unique_ptr<RocksDatabase> database_;
  StoreRecord record_;
  CommitRecord commit_;
  std::optional<AckedSeq> acked_;
  std::optional<CommitRecord> tables_;           // both families hold all up to it
  std::optional<core::CommitSeq> expected_seq_;  // of a log that was not replayed to its end
  bool loss_accepted_ = false;
  core::CommitSeq known_acked_ = 0;  // by the witness as it was found
  std::string torn_log_;
  std::string manifest_;  // as found
};

}  // namespace

OpenResult open_store_on(std::shared_ptr<rocksdb::FileSystem> file_system,
                         const OpenOptions& options, core::Executor& executor) {
  const auto begin = std::chrono::steady_clock::now();
  OpenResult result;
  DataDirectory::Options where;
  where.path = options.directory;
  where.create = options.create && !options.read_only;
  where.allow_network_file_system = options.allow_network_file_system;
  if (options.own_files) where.files = options.own_files;
  auto directory = DataDirectory::open(where);
  if (auto* failure = std::get_if<Failure>(&directory)) {
    result.failure = std::move(*failure);
    return result;
  }
  Opening opening(std::move(file_system), options, std::get<DataDirectory>(std::move(directory)));
  result.failure = opening.run();
  // The first failure of the device is the cause of whatever failed after it.
  if (auto first = opening.background_failure()) result.failure = std::move(first);
  if (result.failure) return result;
  result.store = opening.finish(executor, &result.info);
  const auto took = std::chrono::steady_clock::now() - begin;
  result.info.open_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  return result;
}

OpenResult open_store(const OpenOptions& options, core::Executor& executor) {
  return open_store_on(rocksdb::FileSystem::Default(), options, executor);
}

}  // namespace rota::store
