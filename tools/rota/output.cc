// SPDX-License-Identifier: Apache-2.0
#include "rota/output.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace rota::cli {
namespace {

struct Advice {
  std::string_view reason;
  std::string_view text;
};

constexpr std::array<Advice, 18> kAdvice = {{
    {"SERVER_UNREACHABLE",
     "is rota-server running there? --server HOST:PORT or ROTA_ADDRESS names another one, "
     "--wait-for-server 30s waits for it"},
    {"DEADLINE_EXCEEDED", "a longer --timeout gives the server more time"},
    {"QUEUE_NOT_FOUND", "rota queue list shows the queues"},
    {"JOB_NOT_FOUND",
     "rota job list QUEUE shows the jobs; final ones leave by the queue's "
     "retention"},
    {"SCHEDULER_NOT_FOUND", "rota scheduler list shows the schedulers"},
    {"DRAINING", "the server stops; --wait-for-server 30s waits for it to be back"},
    {"NAMESPACE_NOT_FOUND", "leave --namespace out for the namespace default"},
    {"BAD_JOB_ID", "ids are what job enqueue and job list print"},
    {"BUSINESS_KEY_CONFLICT", "another effect needs another key; job get shows the holder"},
    {"ETAG_MISMATCH", "read it again and decide again"},
    {"ALREADY_FINAL", "job get shows how it ended"},
    {"JOB_RUNNING", "rota job cancel ID, or rota job wait ID"},
    {"NOT_DEAD", "only a DEAD job is redriven; job get shows the state"},
    {"NOT_FINAL", "rota job cancel ID comes first"},
    {"QUEUE_NOT_EMPTY", "rota queue purge NAME removes what waits; running jobs must end"},
    {"QUEUE_IN_USE", "delete or change the scheduler first: rota scheduler list"},
    {"QUEUE_FULL", "rota queue set NAME --max-waiting N raises the limit"},
    {"BUSINESS_KEY_NEEDS_TIME", "for example --business-key 'report/{{business_date}}'"},
}};

}  // namespace

Result<Form> parse_form(std::string_view text) {
  if (text == "table") return Form::kTable;
  if (text == "json") return Form::kJson;
  if (text == "jsonl") return Form::kJsonl;
  if (text == "name") return Form::kName;
  return usage_error("--output",
                     fmt::format("{} is none of table, json, jsonl, name", base::quoted(text)));
}

std::string to_json(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  // Fails only for times outside the years 1 to 9999, which the server does not send.
  if (!status.ok()) text = "{}";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string json_string(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[0];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else if (byte < 0x80) {
      out += text[0];
    } else {
      std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      const std::string_view character = text.substr(0, length);
      if (character.size() == length && base::is_utf8(character)) {
        out += character;
      } else {
        out += "\xEF\xBF\xBD";
        length = 1;
      }
      text.remove_prefix(length);
      continue;
    }
    text.remove_prefix(1);
  }
  out += '"';
  return out;
}

std::string json_error(const Error& error) {
  std::string text =
      fmt::format("{{\"reason\": {}, \"field\": {}, \"message\": {}", json_string(error.reason),
                  json_string(error.field), json_string(error.message));
  if (error.may_have_happened) {
    text += ", \"mayHaveHappened\": true";
    if (!error.request_id.empty()) text += ", \"requestId\": " + json_string(error.request_id);
  }
  return text + "}";
}

void Output::show(const google::protobuf::Message& response, std::string_view name,
                  const std::function<std::string()>& table, std::string_view id) {
  switch (form) {
    case Form::kTable:
      write(table());
      break;
    case Form::kName:
      if (!name.empty()) write(std::string(name) + "\n");
      break;
    case Form::kJsonl:
    case Form::kJson: {
      const bool pretty = form == Form::kJson;
      std::string object = to_json(response, pretty);
      if (!id.empty()) {
        object.insert(1, (pretty ? "\n \"id\": " : "\"id\":") + json_string(id) +
                             (object == "{}" ? "" : ","));
      }
      write_object(object);
      break;
    }
  }
}

void Output::show_refused(std::string_view id, const Error& error) {
  if (!is_json()) return;
  write_object("{\"id\": " + json_string(id) + ", \"error\": " + json_error(error) + "}");
}

void Output::write_object(const std::string& object) {
  if (in_array_) {
    write(first_in_array_ ? "" : ",\n");
    first_in_array_ = false;
  }
  write(object + (in_array_ ? "" : "\n"));
}

void Output::begin_many() {
  if (form != Form::kJson) return;
  in_array_ = first_in_array_ = true;
  write("[");
}

void Output::end_many() {
  if (!in_array_) return;
  in_array_ = false;
  write("]\n");
}

void Output::write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), out_); }

void Output::note(std::string_view text) {
  std::fflush(out_);  // so that the two keep their order on a terminal
  std::fprintf(err_, "%.*s\n", static_cast<int>(text.size()), text.data());
}

void Output::error(const Error& error) {
  const View err_view{.now_ms = view.now_ms, .color = err_color};
  std::string text = error_line(error);
  constexpr std::string_view kWord = "error:";
  text = paint(err_view, Paint::kBad, kWord) + text.substr(kWord.size());
  const std::string advice = way_out(error);
  if (!advice.empty()) text += "\n  " + advice;
  note(text);
}

bool Output::finish() { return std::fflush(out_) == 0 && std::ferror(out_) == 0; }

void drop_repeated_field(Error* error) {
  if (error->field.empty() || error->message.rfind(error->field + ": ", 0) != 0) return;
  error->message.erase(0, error->field.size() + 2);
}

std::string rename_fields(std::string_view message,
                          const std::function<std::string(std::string_view)>& name) {
  constexpr std::string_view kWord = "abcdefghijklmnopqrstuvwxyz0123456789_.";
  std::string out;
  std::size_t at = 0;
  while (at < message.size()) {
    const char c = message[at];
    if (c == '"') {
      std::size_t end = at + 1;
      while (end < message.size() && message[end] != '"') end += message[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, message.size());
      out += message.substr(at, end - at);
      at = end;
      continue;
    }
    if (kWord.find(c) == std::string_view::npos) {
      out += c;
      ++at;
      continue;
    }
    const std::size_t stop = std::min(message.find_first_not_of(kWord, at), message.size());
    std::string_view word = message.substr(at, stop - at);
    while (!word.empty() && word.back() == '.') word.remove_suffix(1);  // of the sentence
    const auto joined = [](char next) {
      return (next >= 'A' && next <= 'Z') || next == '-' || next == '{' || next == '}' ||
             next == '/' || next == '=' || static_cast<unsigned char>(next) >= 0x80;
    };
    const bool whole =
        (at == 0 || !joined(message[at - 1])) && (stop == message.size() || !joined(message[stop]));
    const bool can_be_field = whole && word.find('_') != std::string_view::npos;
    out += can_be_field ? name(word) : std::string(word);
    out += message.substr(at + word.size(), stop - at - word.size());
    at = stop;
  }
  return out;
}

std::string error_line(const Error& error) {
  std::string text = "error: ";
  if (!error.reason.empty()) text += error.reason + ": ";
  if (!error.field.empty()) text += printable(error.field) + ": ";
  text += printable(error.message, 2'000);
  if (error.retry_after) {
    text += fmt::format(" (again in {})", span_text(error.retry_after->count()));
  }
  if (error.may_have_happened) {
    text += error.request_id.empty()
                ? std::string("; it may have happened, the same command again is safe")
                : fmt::format("; it may have happened, the same again with --request-id {} is safe",
                              error.request_id);
  }
  return text;
}

std::string way_out(const Error& error) {
  for (const Advice& advice : kAdvice) {
    if (advice.reason == error.reason) return std::string(advice.text);
  }
  return {};
}

Error usage_error(std::string field, std::string message) {
  Error error;
  error.code = Code::kInvalid;
  error.reason = "INVALID_FIELD";
  error.field = std::move(field);
  error.message = std::move(message);
  return error;
}

}  // namespace rota::cli
