// SPDX-License-Identifier: Apache-2.0
#include "rota/job_line.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>

#include "base/limits.h"
#include "base/names.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "rota/fields.h"
#include "rota/json_reader.h"
#include "rota/output.h"
#include "rota/text.h"

namespace rota::cli {
namespace {

using Kind = JsonReader::Kind;

// Fields of one object by name; the place in the table is the bit that notices a repeated one.
template <std::size_t N>
int index_of(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  return -1;
}

enum JobField : int {
  kQueue,
  kKind,
  kPayload,
  kContentType,
  kPriority,
  kRunAt,
  kDelay,
  kStartDeadline,
  kAttemptTimeout,
  kNoAttemptTimeout,
  kRetry,
  kBusinessKey,
  kBusinessKeyScope,
  kLabels,
  kDedup,
};
constexpr std::array<std::string_view, 15> kJobFields = {
    "queue", "kind",        "payload",          "contentType",    "priority",
    "runAt", "delay",       "startDeadline",    "attemptTimeout", "noAttemptTimeout",
    "retry", "businessKey", "businessKeyScope", "labels",         "dedup"};
constexpr std::array<std::string_view, 3> kRetryFields = {"maxAttempts", "backoff", "giveUpAfter"};
constexpr std::array<std::string_view, 6> kBackoffFields = {"mode", "first",  "factor",
                                                            "cap",  "delays", "jitter"};

// The fields of a message and of those in it.
void add_names(const google::protobuf::Descriptor* message,
               std::set<std::string, std::less<>>* names) {
  for (int i = 0; i < message->field_count(); ++i) {
    const auto* field = message->field(i);
    names->insert(field->name());
    const auto* inner = field->message_type();
    if (inner != nullptr && inner->file()->package() == message->file()->package() &&
        !field->is_map()) {
      add_names(inner, names);
    }
  }
}

class LineParser {
 public:
  LineParser(std::string_view line, v1::JobSpec* job, Error* error)
      : reader_(line), job_(job), error_(error) {}

  bool run() {
    if (read_object("", kJobFields, [this](int field) { return job_field(field); })) {
      if (reader_.at_end()) return true;
      return json_fault("something follows the object");
    }
    // A fault that a field was named for stays.
    return reader_.ok() || !error_->reason.empty() ? false : json_fault(reader_.fault());
  }

 private:
  bool json_fault(std::string message) {
    *error_ = usage_error("", std::move(message));
    error_->reason = "INVALID_JSON";
    return false;
  }
  bool fault(Error error) {
    *error_ = std::move(error);
    return false;
  }
  bool field_fault(std::string field, std::string message) {
    *error_ = usage_error(std::move(field), std::move(message));
    return false;
  }
  // A reader's fault that is one of the value's kind: named after its field.
  bool wrong_kind(std::string_view field, const char* wanted) {
    if (reader_.peek() == Kind::kNothing) {
      std::string_view raw;
      reader_.read_raw(&raw);  // finds the fault
      return false;
    }
    return field_fault(std::string(field), fmt::format("must be {}", wanted));
  }

  // The text is a number, but none that fits; any other fault is one of the text.
  bool wrong_number(std::string_view field, const char* wanted) {
    if (!reader_.is_number_fault()) return false;
    return field_fault(std::string(field), fmt::format("must be {}", wanted));
  }

  // `read` gets the place of each field in `names` and reads its value; nulls are passed over, but
  // for the payload.
  template <std::size_t N, class Read>
  bool read_object(const char* path, const std::array<std::string_view, N>& names, Read read) {
    if (!reader_.begin_object()) return false;
    std::uint32_t seen = 0;
    std::string_view name;
    while (reader_.next_member(&name)) {
      const int field = index_of(names, name);
      if (field < 0) return unknown_field(path, names.begin(), names.end(), name);
      const std::uint32_t bit = std::uint32_t{1} << field;
      if ((seen & bit) != 0) return field_fault(path + std::string(name), "is given twice");
      seen |= bit;
      const bool is_payload = names[static_cast<std::size_t>(field)] == "payload";
      if (!is_payload && reader_.peek() == Kind::kNull) {
        if (!reader_.read_null()) return false;
        continue;
      }
      if (!read(field)) return false;
    }
    return reader_.ok();
  }

  template <class Iterator>
  bool unknown_field(const char* path, Iterator begin, Iterator end, std::string_view name) {
    const std::string field = path + std::string(name.empty() ? "\"\"" : name);
    if (name == "requestId" && *path == '\0') {
      return field_fault(field,
                         "belongs to a whole call; --request-id makes the whole input repeatable");
    }
    const std::string_view near = base::closest(name, {begin, end});
    return field_fault(field, near.empty() ? std::string("is not a field of a job")
                                           : fmt::format("is no field; did you mean {}?", near));
  }

  bool text(std::string_view field, std::string* out) {
    if (reader_.peek() != Kind::kString) return wrong_kind(field, "a string");
    return reader_.read_string(out);
  }
  // Where an empty string would silently be the same as none.
  bool filled_text(std::string_view field, std::string* out) {
    if (!text(field, out)) return false;
    return !out->empty() || field_fault(std::string(field), "must not be empty; leave it out");
  }
  bool flag(std::string_view field, bool* out) {
    if (reader_.peek() != Kind::kBool) return wrong_kind(field, "true or false");
    return reader_.read_bool(out);
  }
  bool integer(std::string_view field, std::int32_t* out) {
    if (reader_.peek() != Kind::kNumber) return wrong_kind(field, "a whole number");
    std::int64_t value = 0;
    if (!reader_.read_integer(&value)) return wrong_number(field, "a whole number");
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
      return field_fault(std::string(field), fmt::format("{} is out of range", value));
    }
    *out = static_cast<std::int32_t>(value);
    return true;
  }
  bool number(std::string_view field, double* out) {
    if (reader_.peek() != Kind::kNumber) return wrong_kind(field, "a number");
    return reader_.read_double(out) || wrong_number(field, "a number that can be held");
  }
  bool instant(std::string_view field, google::protobuf::Timestamp* out) {
    if (!text(field, &scratch_)) return false;
    auto ms = read_instant(field, scratch_);
    if (!ms) return fault(std::move(ms).error());
    put_time(*ms, out);
    return true;
  }
  bool span(std::string_view field, google::protobuf::Duration* out) {
    return text(field, &scratch_) && put_scratch(field, out);
  }
  // A span, or the word none, as the options have it.
  bool span_or_none(std::string_view field, bool* none, google::protobuf::Duration* out) {
    if (!text(field, &scratch_)) return false;
    *none = scratch_ == "none";
    return *none || put_scratch(field, out);
  }
  bool put_scratch(std::string_view field, google::protobuf::Duration* out) {
    auto ms = read_span(field, scratch_);
    if (!ms) return fault(std::move(ms).error());
    put_span(*ms, out);
    return true;
  }
  // A word of an enum: as the options spell it, as the API does, with or without the API's prefix.
  bool word(std::string_view field, std::string_view prefix, std::string* out) {
    if (!text(field, out)) return false;
    for (char& c : *out) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    if (out->rfind(prefix, 0) == 0) out->erase(0, prefix.size());
    return true;
  }

  bool job_field(int field) {
    switch (field) {
      case kQueue:
        return text("queue", job_->mutable_queue());
      case kKind:
        return text("kind", job_->mutable_kind());
      case kPayload:
        return payload();
      case kContentType:
        return filled_text("contentType", job_->mutable_payload()->mutable_content_type());
      case kPriority: {
        std::int32_t value = 0;
        if (!integer("priority", &value)) return false;
        job_->set_priority(value);
        return true;
      }
      case kRunAt:
        return instant("runAt", job_->mutable_run_at());
      case kDelay:
        return span("delay", job_->mutable_delay());
      case kStartDeadline:
        return instant("startDeadline", job_->mutable_start_deadline());
      case kAttemptTimeout: {
        bool none = false;
        google::protobuf::Duration limit;
        if (!span_or_none("attemptTimeout", &none, &limit)) return false;
        if (none) {
          job_->set_no_attempt_timeout(true);
        } else {
          *job_->mutable_attempt_timeout() = limit;
        }
        return true;
      }
      case kNoAttemptTimeout: {
        bool value = false;
        if (!flag("noAttemptTimeout", &value)) return false;
        if (value) job_->set_no_attempt_timeout(true);
        return true;
      }
      case kRetry:
        return retry(job_->mutable_retry());
      case kBusinessKey:
        return filled_text("businessKey", job_->mutable_business_key());
      case kBusinessKeyScope:
        return filled_text("businessKeyScope", job_->mutable_business_key_scope());
      case kLabels:
        return labels();
      case kDedup:
        return dedup();
      default:
        return false;
    }
  }

  bool payload() {
    std::string* data = job_->mutable_payload()->mutable_data();
    if (reader_.peek() == Kind::kString) {
      if (!reader_.read_string(data)) return false;
    } else {
      std::string_view raw;
      if (!reader_.read_raw(&raw)) return false;
      data->assign(raw);
    }
    if (data->size() <= static_cast<std::size_t>(base::limits::kPayloadBytesMax)) return true;
    field_fault("payload", fmt::format("{}, limit {} on any server",
                                       base::format_bytes(static_cast<std::int64_t>(data->size())),
                                       base::format_bytes(base::limits::kPayloadBytesMax)));
    error_->reason = "PAYLOAD_TOO_LARGE";
    return false;
  }

  bool labels() {
    if (reader_.peek() != Kind::kObject) return wrong_kind("labels", "an object of strings");
    if (!reader_.begin_object()) return false;
    std::string_view name;
    while (reader_.next_member(&name)) {
      const std::string key(name);
      if (job_->labels().contains(key)) {
        return field_fault("labels", fmt::format("the key {} is given twice", base::quoted(key)));
      }
      if (!text("labels", &(*job_->mutable_labels())[key])) return false;
    }
    return reader_.ok();
  }

  bool dedup() {
    static constexpr std::array<std::string_view, 1> kFields = {"onDead"};
    if (reader_.peek() != Kind::kObject) return wrong_kind("dedup", "an object");
    return read_object("dedup.", kFields, [this](int) {
      if (!word("dedup.onDead", "ON_DEAD_", &scratch_)) return false;
      if (scratch_ == "RETURN") {
        job_->mutable_dedup()->set_on_dead(v1::DedupPolicy::ON_DEAD_RETURN);
      } else if (scratch_ == "REDRIVE") {
        job_->mutable_dedup()->set_on_dead(v1::DedupPolicy::ON_DEAD_REDRIVE);
      } else {
        return field_fault("dedup.onDead", base::quoted(scratch_) + " is none of return, redrive");
      }
      return true;
    });
  }

  bool retry(v1::RetryPolicy* policy) {
    if (reader_.peek() != Kind::kObject) return wrong_kind("retry", "an object");
    return read_object("retry.", kRetryFields, [this, policy](int field) {
      if (field == 1) return backoff(policy->mutable_backoff());
      if (field == 2) return give_up_after(policy);
      std::int32_t value = 0;
      if (!integer("retry.maxAttempts", &value)) return false;
      // 0 means "the default" in the message, which is what leaving it out says.
      if (value < base::limits::kAttemptsMin) {
        return field_fault("retry.maxAttempts",
                           fmt::format("{}, must be from {} to {}", value,
                                       base::limits::kAttemptsMin, base::limits::kAttemptsMax));
      }
      policy->set_max_attempts(value);
      return true;
    });
  }

  bool give_up_after(v1::RetryPolicy* policy) {
    bool none = false;
    google::protobuf::Duration horizon;
    if (!span_or_none("retry.giveUpAfter", &none, &horizon)) return false;
    if (!none) *policy->mutable_give_up_after() = horizon;
    return true;
  }

  bool backoff(v1::Backoff* backoff) {
    if (reader_.peek() != Kind::kObject) return wrong_kind("retry.backoff", "an object");
    return read_object("retry.backoff.", kBackoffFields, [this, backoff](int field) {
      double value = 0;
      switch (field) {
        case 0:
          return mode(backoff);
        case 1:
          return span("retry.backoff.first", backoff->mutable_first());
        case 2:
          if (!number("retry.backoff.factor", &value)) return false;
          if (value < 1) {
            return field_fault(
                "retry.backoff.factor",
                fmt::format("{}, must be from 1 to {}", value, base::limits::kBackoffFactorMax));
          }
          backoff->set_factor(value);
          return true;
        case 3:
          return span("retry.backoff.cap", backoff->mutable_cap());
        case 4:
          return delays(backoff);
        default:
          if (!number("retry.backoff.jitter", &value)) return false;
          backoff->set_jitter(value);
          return true;
      }
    });
  }

  bool mode(v1::Backoff* backoff) {
    if (!word("retry.backoff.mode", "MODE_", &scratch_)) return false;
    if (scratch_ == "FIXED") {
      backoff->set_mode(v1::Backoff::MODE_FIXED);
    } else if (scratch_ == "EXPONENTIAL") {
      backoff->set_mode(v1::Backoff::MODE_EXPONENTIAL);
    } else if (scratch_ == "LISTED") {
      backoff->set_mode(v1::Backoff::MODE_LISTED);
    } else {
      return field_fault("retry.backoff.mode",
                         base::quoted(scratch_) + " is none of fixed, exponential, listed");
    }
    return true;
  }

  bool delays(v1::Backoff* backoff) {
    if (reader_.peek() != Kind::kArray) {
      return wrong_kind("retry.backoff.delays", "an array of durations");
    }
    if (!reader_.begin_array()) return false;
    while (reader_.next_element()) {
      if (!span("retry.backoff.delays", backoff->add_delays())) return false;
    }
    return reader_.ok();
  }

  JsonReader reader_;
  v1::JobSpec* job_;
  Error* error_;
  std::string scratch_;
};

}  // namespace

std::string line_field(std::string_view field) {
  std::string out;
  bool upper = false;
  for (const char c : field) {
    if (c == '_') {
      upper = true;
    } else {
      out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
  }
  return out;
}

std::string line_message(std::string_view message) {
  static const auto kNames = [] {
    std::set<std::string, std::less<>> names = {"request_id"};  // of the whole call
    add_names(v1::JobSpec::descriptor(), &names);
    return names;
  }();
  return rename_fields(message, [](std::string_view field) {
    for (const std::string& part : split(std::string(field), '.')) {
      if (!kNames.contains(part)) return std::string(field);  // an option of the server, say
    }
    return line_field(field);
  });
}

bool parse_job_line(std::string_view line, v1::JobSpec* job, Error* error) {
  if (!is_json_utf8(line)) {
    *error = usage_error("", "the line is not UTF-8");
    error->reason = "INVALID_JSON";
    return false;
  }
  return LineParser(line, job, error).run();
}

}  // namespace rota::cli
