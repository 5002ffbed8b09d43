// SPDX-License-Identifier: Apache-2.0
// The four output forms. Data goes to standard output, everything else to standard error, so that
// with json and jsonl standard output holds JSON and nothing else.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "google/protobuf/message.h"
#include "rota/error.h"
#include "rota/text.h"

namespace rota::cli {

enum class Form {
  kTable,  // for people; no column of it is a contract
  kJson,   // proto3 JSON of the response, lowerCamelCase names, 64-bit numbers as strings; with the
           // member "id" in front where things were asked for by their ids
  kJsonl,  // one object a line
  kName,   // ids or names only, one a line, for pipes
};

// "table", "json", "jsonl" or "name"; INVALID_FIELD otherwise.
Result<Form> parse_form(std::string_view text);

// Proto3 JSON with fields of value zero, so that a reader finds every field of a message.
std::string to_json(const google::protobuf::Message& message, bool pretty);

// `text` as a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// {"reason": "...", "field": "...", "message": "..."}, and where the answer was lost behind that
// "mayHaveHappened": true and, if the call had one, its "requestId".
std::string json_error(const Error& error);

// Where a command writes. Not thread-safe.
class Output {
 public:
  Output(std::FILE* out, std::FILE* err) : out_(out), err_(err) {}

  Form form = Form::kTable;
  View view{};             // of standard output
  bool err_color = false;  // of standard error

  bool is_json() const { return form == Form::kJson || form == Form::kJsonl; }

  // One answer in the chosen form. `name` ends up on a line of its own; `table` makes the text for
  // people, complete with line feeds. `id`: what was asked for, by the words of the caller; json
  // and jsonl then begin with it, so that an answer finds its question.
  void show(const google::protobuf::Message& response, std::string_view name,
            const std::function<std::string()>& table, std::string_view id = {});

  // What became of one of several ids, where there is no answer: {"id": "...", "error": {...}} in
  // json and jsonl, nothing in the other forms.
  void show_refused(std::string_view id, const Error& error);

  // The answers to several ids: in json they become one array. end_many() closes it.
  void begin_many();
  void end_many();

  void write(std::string_view text);
  // A line on standard error.
  void note(std::string_view text);
  // "error: REASON: field: message", and the way out where one is known.
  void error(const Error& error);

  // False when something could not be written; also flushes.
  bool finish();

  std::FILE* out() const { return out_; }
  std::FILE* err() const { return err_; }

 private:
  // An object of the chosen kind of JSON: a line, the whole output, or an element of it.
  void write_object(const std::string& object);

  std::FILE* out_;
  std::FILE* err_;
  bool in_array_ = false, first_in_array_ = false;
};

// Statuses of the server begin with the field that the error names as well: takes it out of the
// message, so that it is said once.
void drop_repeated_field(Error* error);
// `message` with `name` of each word in it that can be a field of the API: lower-case letters with
// an underscore between, perhaps behind the fields that it is in ("retry.max_attempts"). What
// stands in quotes or {{braces}} is somebody's own text and stays.
std::string rename_fields(std::string_view message,
                          const std::function<std::string(std::string_view field)>& name);
// The line that error() writes, without its line feed and way out.
std::string error_line(const Error& error);
// What to do about it in terms of this program; empty when there is nothing to add.
std::string way_out(const Error& error);

// Errors that this program finds itself, before it asks the server.
Error usage_error(std::string field, std::string message);

}  // namespace rota::cli
