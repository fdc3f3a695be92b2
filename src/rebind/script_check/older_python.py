"""Names that Python 2 had and Python 3 has not, and what to write instead."""

from __future__ import annotations

__all__ = ["GONE", "METHODS", "MODULES"]

#: Modules: a program that tries them first, in ``try: import cPickle ... except ImportError``, is left alone.
MODULES: dict[str, str] = {
    "BaseHTTPServer": "it is http.server",
    "ConfigParser": "it is configparser",
    "HTMLParser": "it is html.parser",
    "Queue": "it is queue",
    "SocketServer": "it is socketserver",
    "StringIO": "use io.StringIO, or io.BytesIO for bytes",
    "Tkinter": "it is tkinter",
    "__builtin__": "it is builtins",
    "cPickle": "import pickle",
    "cStringIO": "use io.StringIO, or io.BytesIO for bytes",
    "commands": "use subprocess",
    "cookielib": "it is http.cookiejar",
    "httplib": "it is http.client",
    "itertools.ifilter": "use filter",
    "itertools.imap": "use map",
    "itertools.izip": "use zip",
    "thread": "use threading",
    "urllib2": "use urllib.request",
    "urlparse": "it is urllib.parse",
}

#: Functions and values, by their paths, with the modules.
GONE: dict[str, str] = {
    **MODULES,
    "builtins.apply": "write f(*args)",
    "builtins.basestring": "write str",
    "builtins.cmp": "write (a > b) - (a < b)",
    "builtins.execfile": "write exec(open(path).read())",
    "builtins.file": "write open",
    "builtins.long": "write int",
    "builtins.raw_input": "write input",
    "builtins.reduce": "from functools import reduce",
    "builtins.reload": "from importlib import reload",
    "builtins.unichr": "write chr",
    "builtins.unicode": "write str",
    "builtins.xrange": "write range",
    "collections.Callable": "it is collections.abc.Callable",
    "collections.Iterable": "it is collections.abc.Iterable",
    "collections.Iterator": "it is collections.abc.Iterator",
    "collections.Mapping": "it is collections.abc.Mapping",
    "collections.MutableMapping": "it is collections.abc.MutableMapping",
    "collections.Sequence": "it is collections.abc.Sequence",
    "itertools.ifilterfalse": "use itertools.filterfalse",
    "itertools.izip_longest": "use itertools.zip_longest",
    "os.getcwdu": "write os.getcwd",
    "string.join": "write separator.join(texts)",
    "string.letters": "write string.ascii_letters",
    "string.lowercase": "write string.ascii_lowercase",
    "string.maketrans": "write str.maketrans",
    "string.uppercase": "write string.ascii_uppercase",
    "sys.maxint": "write sys.maxsize",
    "time.clock": "write time.perf_counter",
    "urllib.quote": "it is urllib.parse.quote",
    "urllib.unquote": "it is urllib.parse.unquote",
    "urllib.urlencode": "it is urllib.parse.urlencode",
    "urllib.urlopen": "it is urllib.request.urlopen",
    "urllib.urlretrieve": "it is urllib.request.urlretrieve",
}

#: Methods of a dict.
METHODS: dict[str, str] = {
    "has_key": "write key in x",
    "iteritems": "write x.items()",
    "iterkeys": "write x.keys()",
    "itervalues": "write x.values()",
}
