# The edit of clear_json.py for `jq -c --arg placeholder TEXT -f clear.jq`: tool results of more than 200 characters
# are replaced, a string by a string, a list by a list of one text; everything else is kept.

def text_length:
  if type == "string" then length elif type == "array" then (map(.text // "" | length) | add // 0) else 0 end;

def clear:
  if (.content | text_length) <= 200 then .
  elif (.content | type) == "string" then .content = $placeholder
  else .content = [{type: "text", text: $placeholder}] end;

def clear_message:
  if .role == "tool" then clear
  elif (.content | type) == "array" then .content |= map(if .type == "tool_result" then clear else . end)
  else . end;

if has("messages") then .messages |= map(clear_message)
elif has("message") then
  (.message | clear_message) as $message
  | if has("toolUseResult") and $message != .message then .toolUseResult = $placeholder else . end
  | .message = $message
else clear_message end
