# What rote has beyond jq: aggregates over arrays, case.
def sum: add;
def sum(f): reduce f as $x (null; . + $x);
def avg: if length == 0 then null else add / length end;
def avg(f): [f] | avg;

# jq builtins that jaq lacks, or that accept more in jq.
def ltrimstr($x): if isstring and ($x | isstring) then _ltrimstr($x) end;
def rtrimstr($x): if isstring and ($x | isstring) then _rtrimstr($x) end;
def trimstr($x): ltrimstr($x) | rtrimstr($x);
def toarray: if isarray then . else [.] end;
def leaf_paths: paths(scalars);
def from_entries: reduce .[] as $x ({};
    . + { ($x | if isobject then (if has("key") then .key elif has("k") then .k elif has("name") then .name
                                  elif has("Name") then .Name elif has("Key") then .Key elif has("K") then .K
                                  else null end)
          else .[0] end
          | if isstring then . elif . == null then "null" else tojson end):
        ($x | if isobject then (if has("value") then .value elif has("v") then .v elif has("Value") then .Value
                                else .V end)
         else .[1] end) });
def with_entries(f): to_entries | map(f) | from_entries;
def tostring: if isstring then . else tojson end;
def join($s): reduce .[] as $x (null;
    (if . == null then "" else . + $s end) as $head
    | if $x == null then $head elif $x | isstring or isnumber or isboolean then $head + ($x | tostring)
      else error("\($head | _shown) and \($x | _shown) cannot be added") end) // "";
def ascii: [.] | implode;
def date: todate;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] = $row);
def INDEX(f): INDEX(.[]; f);
def _joined($index; f): [., (f as $key | $index | _index($key))];
def JOIN($index; f): [.[] | _joined($index; f)];
def JOIN($index; stream; f): stream | _joined($index; f);
def JOIN($index; stream; f; join): stream | _joined($index; f) | join;
def debug: .;
def debug(messages): (messages | empty), .;
def limit($n; f): if $n < 0 then error("limit doesn't support negative count") else _limit($n; f) end;
def skip($n; f): if $n < 0 then error("skip doesn't support negative count") else _skip($n; f) end;
def map(f): [_each | f];
def first: _index(0);
def last: _index(-1);
def nth($n): _index($n);
def transpose: [range([.[] | length] | max) as $i | [.[] | _index($i)]];
def nth($n; f): if $n < 0 then error("nth doesn't support negative indices") else first(skip($n; f)) end;
def flatten($depth):
  def flat($d): reduce .[] as $x ([]; if $d > 0 and ($x | isarray) then . + ($x | flat($d - 1)) else . + [$x] end);
  if $depth < 0 then error("flatten depth must not be negative") else flat($depth) end;
def bsearch($x): if isarray then _bsearch($x) else error("\(_shown) cannot be searched from") end;
def toboolean: if isboolean then . elif . == "true" then true elif . == "false" then false
    else error("\(_shown) cannot be parsed as a boolean") end;
def utf8bytelength: if isstring then _utf8bytelength else error("\(_shown) only strings have UTF-8 byte length") end;
def trim: if isstring then _trim else error("trim input must be a string") end;
def ltrim: if isstring then _ltrim else error("trim input must be a string") end;
def rtrim: if isstring then _rtrim else error("trim input must be a string") end;
def fromjson: if . == "nan" or . == "-nan" or . == "-NaN" then nan else _fromjson end;

# Times that are told in parts may leave the last ones out.
def _parts($who): if isarray and all(isnumber) then . + [0, 0, 1, 0, 0, 0][length:]
    elif isnumber then . else error("\($who) requires parsed datetime inputs") end;
def strftime($format): if $format | isstring then _parts("strftime/1") | _strftime($format)
    else error("strftime/1 requires a string format") end;
def mktime: if isarray then _parts("mktime") | _mktime else error("mktime requires array of 6 numbers") end;

# Paths.
def del(f): delpaths([path(f)]);
def pick(f): . as $top | reduce path(f) as $p (null; setpath($p; $top | getpath($p)));

# Streams.
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
    | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): { x: null, e: false } as $init
    | foreach f as $i ($init;
        if .e then $init end
        | if $i | length == 2
          then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1])
          else setpath(["e"]; $i[0] | length == 1) end;
        if .e then .x else empty end);
def truncate_stream(stream): . as $n | null | stream | . as $input
    | if (.[0] | length) > $n then setpath([0]; .[0][$n:]) else empty end;
def have_literal_numbers: true;
def have_decnum: true;

# Formats.
def @csv: [.[] | if isnumber or isboolean then tostring elif . == null then ""
                 elif isstring then "\"" + (split("\"") | join("\"\"")) + "\""
                 else error("\(type) is not valid in a csv row") end] | join(",");
def @tsv: [.[] | if isnumber or isboolean then tostring elif . == null then ""
                 elif isstring then split("\\") | join("\\\\") | split("\t") | join("\\t")
                                  | split("\n") | join("\\n") | split("\r") | join("\\r")
                 else error("\(type) is not valid in a tsv row") end] | join("\t");
def @json: tojson;
def @text: tostring;
