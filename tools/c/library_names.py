"""The names of the C library that no header of a generated file declares, but that compilers and linkers know.

An exported function of such a name is taken for the library's by the compiler, replaces it for the whole program when
it is linked, or meets it in a file that includes the library's header as well. Sources: ISO C11 clause 7, and POSIX
(IEEE 1003.1-2008 with XSI), as the preprocessor lists what glibc 2.36 declares in all headers of C with ``-std=c11``,
and in these, ``unistd.h`` and ``strings.h`` with ``-D_XOPEN_SOURCE=700``; ISO C23 clause 7; and the functions that GCC
12 has built in: the words in the compiler that ``-Wbuiltin-declaration-mismatch`` complains of when each is declared as
an entry is.
"""

from __future__ import annotations

import re
from typing import Final

C_FUNCTIONS: Final = frozenset(
    "_setjmp asctime at_quick_exit btowc c16rtomb c32rtomb cabs cabsf cabsl cacos cacosf cacosh cacoshf cacoshl cacosl "
    "call_once carg cargf cargl casin casinf casinh casinhf casinhl casinl catan catanf catanh catanhf catanhl catanl "
    "ccos ccosf ccosh ccoshf ccoshl ccosl cexp cexpf cexpl cimag cimagf cimagl clearerr clock clog clogf clogl "
    "cnd_broadcast cnd_destroy cnd_init cnd_signal cnd_timedwait cnd_wait conj conjf conjl cpow cpowf cpowl cproj "
    "cprojf cprojl creal crealf creall csin csinf csinh csinhf csinhl csinl csqrt csqrtf csqrtl ctan ctanf ctanh "
    "ctanhf ctanhl ctanl ctime difftime fclose feclearexcept fegetenv fegetexceptflag fegetround feholdexcept feof "
    "feraiseexcept ferror fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fflush fgetc fgetpos fgets "
    "fgetwc fgetws fopen fprintf fputc fputs fputwc fputws fread freopen fscanf fseek fsetpos ftell fwide fwprintf "
    "fwrite fwscanf getc getchar gets getwc getwchar gmtime imaxabs imaxdiv isalnum isalpha isblank iscntrl isdigit "
    "isgraph islower isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph "
    "iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit localeconv localtime longjmp main mbrlen mbrtoc16 "
    "mbrtoc32 mbrtowc mbsinit mbsrtowcs memchr memcmp memcpy memmove memset mktime mtx_destroy mtx_init mtx_lock "
    "mtx_timedlock mtx_trylock mtx_unlock perror printf putc putchar puts putwc putwchar raise remove rename rewind "
    "scanf setbuf setlocale setvbuf signal snprintf sprintf sscanf strcat strchr strcmp strcoll strcpy strcspn "
    "strerror strftime strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtoimax strtok strtoumax strxfrm "
    "swprintf swscanf thrd_create thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep thrd_yield time "
    "timespec_get tmpfile tmpnam tolower toupper towctrans towlower towupper tss_create tss_delete tss_get tss_set "
    "ungetc ungetwc vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf "
    "vwprintf vwscanf wcrtomb wcscat wcschr wcscmp wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy "
    "wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstoul wcstoull "
    "wcstoumax wcsxfrm wctob wctrans wctype wmemchr wmemcmp wmemcpy wmemmove wmemset wprintf wscanf".split()
)
"""Functions of C99 and C11, and ``main``, but for those of `reserved.py`."""

C_TYPES: Final = frozenset(
    "FILE cnd_t fenv_t fexcept_t fpos_t imaxdiv_t mbstate_t memory_order mtx_t once_flag sig_atomic_t thrd_t tss_t "
    "va_list wctrans_t wctype_t wint_t".split()
)
"""Types of C11."""

C_MACROS: Final = frozenset(
    "BUFSIZ CHAR_BIT CHAR_MAX CHAR_MIN CLOCKS_PER_SEC CMPLX CMPLXF CMPLXL DECIMAL_DIG E2BIG EACCES EADDRINUSE "
    "EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG EBADR EBADRQC EBADSLT EBFONT EBUSY "
    "ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT "
    "EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN "
    "EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX "
    "ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET "
    "ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM "
    "ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM "
    "ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO EOF EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT "
    "EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN "
    "ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS "
    "EWOULDBLOCK EXDEV EXFULL FILENAME_MAX FOPEN_MAX I LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN L_tmpnam MB_LEN_MAX "
    "ONCE_FLAG_INIT SCHAR_MAX SCHAR_MIN SEEK_CUR SEEK_END SEEK_SET SHRT_MAX SHRT_MIN SIGABRT SIGALRM SIGBUS SIGCHLD "
    "SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX "
    "SIGRTMIN SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 "
    "SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIG_DFL SIG_ERR SIG_IGN TIME_UTC TMP_MAX TSS_DTOR_ITERATIONS UCHAR_MAX "
    "ULLONG_MAX ULONG_MAX USHRT_MAX WEOF assert complex errno kill_dependency noreturn setjmp stderr stdin stdout "
    "va_arg va_copy va_end va_start".split()
)
"""Macros of C11, with all error numbers and signals that there are, but for those that come in series."""

C23_FUNCTIONS: Final = frozenset(
    "c8rtomb ckd_add ckd_mul ckd_sub free_aligned_sized free_sized mbrtoc8 memalignment memset_explicit timegm "
    "timespec_getres unreachable".split()
)
"""What C23 adds, but for the family of ``stdc_``."""

POSIX: Final = frozenset(
    "_exit _longjmp _tolower _toupper access alarm asctime_r bcmp bcopy brk bzero chdir chown clock_getcpuclockid "
    "clock_getres clock_gettime clock_nanosleep clock_settime close confstr crypt ctermid ctime_r daylight dprintf dup "
    "dup2 duplocale encrypt environ execl execle execlp execv execve execvp faccessat fchdir fchown fchownat fdatasync "
    "fdopen fexecve ffs fileno flockfile fmemopen fork fpathconf freelocale fseeko fsync ftello ftruncate ftrylockfile "
    "funlockfile getc_unlocked getchar_unlocked getcwd getdate getdate_err getdelim getegid geteuid getgid getgroups "
    "gethostid gethostname getline getlogin getlogin_r getopt getpgid getpgrp getpid getppid getsid getuid gmtime_r "
    "index isalnum_l isalpha_l isascii isatty isblank_l iscntrl_l isdigit_l isgraph_l islower_l isprint_l ispunct_l "
    "isspace_l isupper_l iswalnum_l iswalpha_l iswblank_l iswcntrl_l iswctype_l iswdigit_l iswgraph_l iswlower_l "
    "iswprint_l iswpunct_l iswspace_l iswupper_l iswxdigit_l isxdigit_l kill killpg lchown link linkat localtime_r "
    "lockf lseek mbsnrtowcs memccpy nanosleep newlocale nice open open_memstream open_wmemstream optarg opterr optind "
    "optopt pathconf pause pclose pipe popen pread psiginfo psignal putc_unlocked putchar_unlocked pwrite read "
    "readlink readlinkat renameat rindex rmdir sbrk setegid seteuid setgid setpgid setpgrp setregid setreuid setsid "
    "setuid sigaction sigaddset sigaltstack sigdelset sigemptyset sigfillset sighold sigignore siginterrupt "
    "sigismember siglongjmp sigpause sigpending sigprocmask sigqueue sigrelse sigset sigsuspend sigtimedwait sigwait "
    "sigwaitinfo sleep stpcpy stpncpy strcasecmp strcasecmp_l strcoll_l strdup strerror_l strerror_r strftime_l "
    "strncasecmp strncasecmp_l strndup strnlen strptime strsignal strtok_r strxfrm_l swab symlink symlinkat sync "
    "sysconf tcgetpgrp tcsetpgrp tempnam timer_create timer_delete timer_getoverrun timer_gettime timer_settime "
    "timezone toascii tolower_l toupper_l towctrans_l towlower_l towupper_l truncate ttyname ttyname_r tzname tzset "
    "ualarm unlink unlinkat uselocale usleep vdprintf vfork wcpcpy wcpncpy wcscasecmp wcscasecmp_l wcscoll_l wcsdup "
    "wcsncasecmp wcsncasecmp_l wcsnlen wcsnrtombs wcswcs wcswidth wcsxfrm_l wctrans_l wctype_l wcwidth write".split()
)
"""Functions and variables of POSIX, some of an earlier edition."""

BUILT_IN: Final = frozenset(
    "clog10 clog10f clog10l dcgettext dgettext fabsd128 fabsd32 fabsd64 ffsimax ffsl ffsll finited128 finited32 "
    "finited64 fprintf_unlocked fputc_unlocked fputs_unlocked fwrite_unlocked gamma_r gammaf_r gammal_r gettext "
    "isinfd128 isinfd32 isinfd64 isnand128 isnand32 isnand64 mempcpy nand128 nand32 nand64 pow10 pow10f pow10l "
    "printf_unlocked puts_unlocked signbitd128 signbitd32 signbitd64 signbitf signbitl strfmon".split()
)
"""What compilers treat as functions that they know, without any header."""

is_in_series: Final = re.compile(
    r"(?:DBL|FLT|LDBL|FE|LC)_\w+|(?:PRI|SCN)[Xdioux](?:(?:FAST|LEAST)?(?:8|16|32|64)|MAX|PTR)|(?:atomic|ATOMIC|stdc)_\w+"
).fullmatch
"""Tells whether a name is of one of the families of C, such as ``DBL_MAX``, ``PRId64`` and ``atomic_int``."""

NAMES: Final = C_FUNCTIONS | C_TYPES | C_MACROS | C23_FUNCTIONS | POSIX | BUILT_IN
"""All of them but the families."""
