"""LLVM's text of how a thread sleeps, is given work with its helpers, runs it and goes to sleep again."""

from __future__ import annotations

from ruda_cpu.run.job_text import job_text
from ruda_cpu.run.templates import PAUSE_DECLARED, PAUSING, filled, passed, time_of, words_of
from ruda_cpu.words import Came, Door, JobWord, Word

FUNCTIONS = ("serve", "help", "enter", "decline", "follow")
_PATIENCE = 1000
"""Microseconds that a queue's thread goes on sleeping after a job that its waiter has ended: the books can wait, and
Python's lock is the waiter's meanwhile."""
_EAGER = 10_000
"""How often it looks for the next job before it sleeps: 250 to 500 µs. A caller that launches and waits in turn comes back in
100 to 300, while its Python is not in the caches; to wake the thread would take it 10 to 40 more."""
_AWAITED = 300_000
"""Nanoseconds that a queue's thread works alone before it wakes the stand-in, if no waiter comes. Who launches more
instead says so."""
_LOOKS = 4000
"""How often a thread that finds no work left looks whether the others have done theirs: for 100 to 200 µs, which is what
going to sleep and being woken take."""

_SLEEP = """
define void @<name>(ptr %s) {
start:
  %clock = alloca [2 x i64]
  <words of s>
  br label %rest
rest:
  %patience = phi i64 [ -1, %start ], [ <patience>, %ended ]
  %eager = phi i64 [ 0, %start ], [ <EAGER>, %ended ]
  %own = load ptr, ptr %s.CALL
  %busy = icmp ne ptr %own, null
  %awake = zext i1 %busy to i64
  store atomic i64 %awake, ptr %s.AWAKE release, align 8
  %lock = load ptr, ptr %s.LOCK
  br label %doze
doze:
  %tries = phi i64 [ %eager, %rest ], [ %tries.next, %nap ]
  %sound = icmp eq i64 %tries, 0
  %most = select i1 %sound, i64 %patience, i64 0
  %got = call i32 <acquire>(ptr %lock, i64 %most, i32 0)
  %roused = icmp eq i32 %got, 1
  %over = or i1 %sound, %roused
  br i1 %over, label %rise, label %nap
nap:
  <pause>
  %tries.next = sub nuw i64 %tries, 1
  br label %doze
rise:
  store atomic i64 1, ptr %s.AWAKE release, align 8
  %woken = icmp eq i32 %got, 1
  br i1 %woken, label %look, label %leave
look:
  %call = load ptr, ptr %s.CALL
  %idle = icmp eq ptr %call, null
  br i1 %idle, label %leave, label %given
given:
  store ptr null, ptr %s.CALL
  %job = load ptr, ptr %s.JOB
  <words of job>
  <crew>
up:
  %first = load ptr, ptr %s.FIRST
  %second = load ptr, ptr %s.SECOND
  call void @lead(ptr %s, ptr null, ptr null)
  call void @wake(ptr %first)
  call void @wake(ptr %second)
  %scratch = load ptr, ptr %s.SCRATCH
  <before>
  %door = load i64, ptr %s.DOOR
  switch i64 %door, label %work [ i64 <ALONE>, label %alone  i64 <DOOR_STAND_IN>, label %await ]
alone:
  call void @decline(ptr %job)
  %alone.who = load atomic i64, ptr %job.CAME monotonic, align 8
  %late = icmp eq i64 %alone.who, <WAITER>
  br i1 %late, label %ended, label %work
await:
  %who = load atomic i64, ptr %job.CAME monotonic, align 8
  switch i64 %who, label %unknown [ i64 <WAITER>, label %spare  i64 <STAND_IN>, label %stand ]
unknown:
  <waited>
  br i1 %waited, label %close, label %step
close:
  call void @decline(ptr %job)
  br label %await
step:
  %stepped = call i8 %call(ptr %job, ptr %scratch)
  %further = icmp ne i8 %stepped, 0
  br i1 %further, label %await, label %unmet
unmet:
  call void @decline(ptr %job)
  br label %spare
stand:
  %standing = load ptr, ptr %s.STAND_IN
  call void @wake(ptr %standing)
  br label %work
spare:
  %spared = load ptr, ptr %s.STAND_IN
  <words of spared>
  store ptr null, ptr %spared.CALL
  store atomic i64 0, ptr %spared.AWAKE release, align 8
  %spared.left = atomicrmw sub ptr %job.INSIDE, i64 1 release
  br label %work
work:
  %ran = call i8 %call(ptr %job, ptr %scratch)
  %any = icmp ne i8 %ran, 0
  br i1 %any, label %work, label %last
last:
  %all = call i8 @done(ptr %job, i64 <LOOKS>)
  <after>
  %took = sub i64 %b, %a
<note>  br label %ended
ended:
  <on>
  br i1 %on, label %rest, label %leave
leave:
  ret void
}
"""
"""Sleep, and run what is given; `<on>` says whether to sleep on after it. Who has given itself work is not asleep."""

_CALL_CREW = """%crew = load ptr, ptr %s.CREW
  %size = load i64, ptr %crew
  %want = load i64, ptr %job.HELPERS
  %claimed = getelementptr i64, ptr %s, i64 <CLAIMED>
  br label %claim
claim:
  %at = phi i64 [ 0, %given ], [ %at.next, %next ]
  %count = phi i64 [ 0, %given ], [ %count.next, %next ]
  %more = icmp ult i64 %at, %size
  %few = icmp ult i64 %count, %want
  %go = and i1 %more, %few
  br i1 %go, label %ask, label %asked
ask:
  %at.next = add nuw i64 %at, 1
  %where = getelementptr ptr, ptr %crew, i64 %at.next
  %helper = load ptr, ptr %where
  <words of helper>
  %asked.pair = cmpxchg ptr %helper.AWAKE, i64 0, i64 1 acq_rel monotonic
  %free = extractvalue { i64, i1 } %asked.pair, 1
  br i1 %free, label %take, label %next
take:
  %slot = getelementptr ptr, ptr %claimed, i64 %count
  store ptr %helper, ptr %slot
  store ptr %call, ptr %helper.CALL
  store ptr %job, ptr %helper.JOB
  br label %next
next:
  %taken = phi i64 [ 0, %ask ], [ 1, %take ]
  %count.next = add nuw i64 %count, %taken
  br label %claim
asked:
  %inside = atomicrmw add ptr %job.INSIDE, i64 %count monotonic
  %missing = sub i64 %want, %count
  store atomic i64 %missing, ptr %job.MISSING release, align 8
  %short = icmp ne i64 %missing, 0
  br i1 %short, label %wanting, label %complete
wanting:
  store atomic i64 1, ptr <wanted> release, align 8
  store i64 0, ptr %s.DOOR
  br label %tell
complete:
  %door.asked = load i64, ptr %s.DOOR
  %stands = icmp eq i64 %door.asked, <DOOR_STAND_IN>
  br i1 %stands, label %keep, label %tell
keep:
  %count.less = sub i64 %count, 1
  %kept = call ptr @of(ptr %claimed, i64 %count.less, i64 %count)
  store ptr %kept, ptr %s.STAND_IN
  call void @lead(ptr %kept, ptr null, ptr null)
  br label %tell
tell:
  %crew.size = phi i64 [ %count, %wanting ], [ %count, %complete ], [ %count.less, %keep ]
  %zeroth = call ptr @of(ptr %claimed, i64 0, i64 %crew.size)
  %other = call ptr @of(ptr %claimed, i64 1, i64 %crew.size)
  call void @lead(ptr %s, ptr %zeroth, ptr %other)
  br label %pair
pair:
  %k = phi i64 [ 0, %tell ], [ %k.next, %link ]
  %linked = icmp uge i64 %k, %crew.size
  br i1 %linked, label %up, label %link
link:
  %k.next = add nuw i64 %k, 1
  %left.at = mul nuw i64 %k.next, 2
  %right.at = add nuw i64 %left.at, 1
  %parent = call ptr @of(ptr %claimed, i64 %k, i64 %crew.size)
  %left = call ptr @of(ptr %claimed, i64 %left.at, i64 %crew.size)
  %right = call ptr @of(ptr %claimed, i64 %right.at, i64 %crew.size)
  call void @lead(ptr %parent, ptr %left, ptr %right)
  br label %pair
"""
"""Claim helpers that sleep and give them the job, as a tree: each wakes two more before it works."""

_ENDED_BY_WAITER = """%stay = load i64, ptr %s.STAY
  %may = icmp ne i64 %stay, 0
  %finally = load atomic i64, ptr %job.CAME monotonic, align 8
  %waiter = icmp eq i64 %finally, <WAITER>
  %on = and i1 %may, %waiter"""

_NOBODY_WANTS_HELP = """%left.job = atomicrmw sub ptr %job.INSIDE, i64 1 release
  %want = load atomic i64, ptr <wanted> acquire, align 8
  %on = icmp eq i64 %want, 0"""

_REST = """
define internal ptr @of(ptr %array, i64 %at, i64 %size) {
  %inside = icmp ult i64 %at, %size
  br i1 %inside, label %there, label %beyond
there:
  %where = getelementptr ptr, ptr %array, i64 %at
  %value = load ptr, ptr %where
  ret ptr %value
beyond:
  ret ptr null
}
define internal void @lead(ptr %s, ptr %one, ptr %other) {
  <words of s>
  store ptr %one, ptr %s.FIRST
  store ptr %other, ptr %s.SECOND
  ret void
}
define internal void @wake(ptr %s) {
  %none = icmp eq ptr %s, null
  br i1 %none, label %leave, label %call
call:
  %lock = load ptr, ptr %s
  call void <release>(ptr %lock)
  br label %leave
leave:
  ret void
}
<declared>
"""


def text(outside: dict[str, str]) -> str:
    """The module; `outside` has the values of what is not in it."""
    common = outside | {
        "words of s": words_of("s", Word),
        "words of job": words_of("job", JobWord),
        "words of spared": words_of("spared", Word),
        "words of helper": words_of("helper", Word),
        "WAITER": str(Came.WAITER.value),
        "STAND_IN": str(Came.STAND_IN.value),
        "ALONE": str(Door.ALONE.value),
        "DOOR_STAND_IN": str(Door.STAND_IN.value),
        "LOOKS": str(_LOOKS),
        "CLAIMED": str(len(Word)),
        "before": time_of(outside["clock"], "a"),
        "after": time_of(outside["clock"], "b"),
        "waited": passed(outside["clock"], "waited", _AWAITED),
        "pause": PAUSING,
        "declared": PAUSE_DECLARED,
    }
    queue = {
        "name": "serve",
        "patience": str(_PATIENCE),
        "EAGER": str(_EAGER),
        "on": _ENDED_BY_WAITER,
        "crew": _CALL_CREW,
        "note": "  store i64 %took, ptr %job.NANOSECONDS\n",
    }
    helper = {
        "name": "help",
        "patience": "-1",
        "EAGER": "0",
        "on": _NOBODY_WANTS_HELP,
        "crew": "br label %up",
        "note": "",
    }
    sleeps = (filled(_SLEEP, own | common) for own in (queue, helper))
    return "".join((*sleeps, filled(_REST, common), job_text(common)))
