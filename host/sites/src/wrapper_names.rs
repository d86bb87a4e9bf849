//! The names of functions that only hand a request on to malloc, in many programs: one table.
//!
//! Invariant: a name is in it once. Names are compared without arguments, and without what compilers add to a part of a function.
//! Not here: such functions in other programs, which the samples show ([`crate::wrappers`]).

use crate::name_words::without_arguments;

/// Names by the program or library that has them. A star at the end stands for any rest.
const KNOWN: [(&str, &[&str]); 24] = [
    (
        "many programs",
        &[
            "xmalloc*",
            "xcalloc*",
            "xrealloc*",
            "xnmalloc",
            "xzalloc",
            "xizalloc",
            "x2realloc",
            "x2nrealloc",
            "xpalloc",
            "ximalloc",
            "xicalloc",
            "xirealloc",
            "xcharalloc",
            "imalloc",
            "icalloc",
            "irealloc",
            "xmemdup*",
            "ximemdup*",
            "xstrdup",
            "xstrndup",
            "sh_xmalloc",
            "sh_xrealloc",
            "do_xmalloc",
            "safe_malloc",
            "safe_calloc",
            "safe_realloc",
            "emalloc",
            "ecalloc",
            "erealloc",
            "estrdup",
            "checked_malloc",
            "my_malloc",
            "my_calloc",
            "my_realloc",
            "malloc_multiply",
            "greedy_realloc*",
            "_obstack_begin*",
            "_obstack_newchunk*",
        ],
    ),
    (
        "GLib",
        &[
            "g_malloc*",
            "g_try_malloc*",
            "g_realloc*",
            "g_try_realloc*",
            "g_slice_alloc*",
            "g_aligned_alloc*",
            "g_memdup*",
            "g_strdup",
            "g_strndup",
        ],
    ),
    ("Perl", &["Perl_safesys*", "Perl_malloc", "Perl_calloc", "Perl_realloc"]),
    (
        "nginx",
        &[
            "ngx_alloc",
            "ngx_calloc",
            "ngx_memalign",
            "ngx_palloc*",
            "ngx_pnalloc",
            "ngx_pcalloc",
            "ngx_pmemalign",
        ],
    ),
    (
        "Java",
        &[
            "os::malloc",
            "os::realloc",
            "os::strdup*",
            "AllocateHeap",
            "ReallocateHeap",
            "resource_allocate_bytes",
            "resource_reallocate_bytes",
            "Arena::grow",
            "Arena::Amalloc*",
            "Arena::Arealloc",
            "ChunkPool::allocate*",
            "Chunk::operator new",
            "JLI_MemAlloc",
            "JLI_MemRealloc",
            "JLI_StringDup",
        ],
    ),
    (
        "SQLite",
        &[
            "sqlite3_malloc*",
            "sqlite3_realloc*",
            "sqlite3Malloc*",
            "sqlite3Realloc*",
            "sqlite3MemMalloc",
            "sqlite3MemRealloc",
            "sqlite3DbMalloc*",
            "sqlite3DbRealloc*",
            "sqlite3DbStrDup",
            "sqlite3DbStrNDup",
            "sqlite3PageMalloc",
            "mallocWithAlarm",
            "dbMallocRawFinish",
            "dbReallocFinish",
            "pcache1Alloc",
        ],
    ),
    (
        "CPython",
        &[
            "_PyObject_New*",
            "_PyObject_GC_*",
            "_PyObject_MallocWithType",
            "PyType_GenericAlloc",
            "_PyType_AllocNoTrack",
            "gc_alloc",
            "PyObject_New*",
        ],
    ),
    ("OpenSSL", &["CRYPTO_*alloc", "CRYPTO_strdup", "CRYPTO_memdup"]),
    (
        "PostgreSQL",
        &[
            "palloc*",
            "repalloc*",
            "pstrdup",
            "pnstrdup",
            "pg_malloc*",
            "pg_realloc*",
            "pg_strdup",
            "MemoryContextAlloc*",
            "MemoryContextStrdup",
            "AllocSetAlloc*",
            "AllocSetRealloc",
        ],
    ),
    ("MariaDB", &["my_strdup", "alloc_root", "my_once_alloc", "ut_malloc*", "ut_allocator*", "mem_heap_*"]),
    (
        "PHP",
        &[
            "_emalloc*",
            "_ecalloc*",
            "_erealloc*",
            "_estrdup*",
            "_safe_*alloc",
            "__zend_malloc",
            "__zend_calloc",
            "__zend_realloc",
            "zend_mm_*",
        ],
    ),
    (
        "Ruby",
        &[
            "ruby_xmalloc*",
            "ruby_xcalloc*",
            "ruby_xrealloc*",
            "ruby_strdup",
            "objspace_x*",
            "rb_xmalloc*",
            "rb_xcalloc*",
            "rb_xrealloc*",
            "rb_gc_impl_malloc",
            "rb_gc_impl_calloc",
            "rb_gc_impl_realloc",
        ],
    ),
    (
        "Lua",
        &[
            "l_alloc",
            "luaM_malloc_",
            "luaM_realloc_",
            "luaM_saferealloc_",
            "luaM_growaux_",
            "luaM_shrinkvector_",
        ],
    ),
    ("R", &["R_chk_calloc", "R_chk_realloc", "R_alloc", "S_alloc"]),
    (
        "Redis",
        &["zmalloc*", "zcalloc*", "zrealloc*", "ztrymalloc*", "ztrycalloc*", "ztryrealloc*", "zstrdup"],
    ),
    (
        "ImageMagick",
        &[
            "AcquireMagickMemory",
            "AcquireQuantumMemory",
            "AcquireAlignedMemory",
            "AcquireVirtualMemory",
            "AcquireCriticalMemory",
            "ResizeMagickMemory",
            "ResizeQuantumMemory",
        ],
    ),
    ("FFmpeg", &["av_malloc*", "av_calloc", "av_realloc*", "av_fast_malloc*", "av_memdup", "av_strdup"]),
    ("Apache", &["apr_palloc*", "apr_pcalloc*", "apr_pstrdup", "apr_allocator_alloc", "allocator_alloc"]),
    (
        "libuv, Node.js",
        &[
            "uv__malloc",
            "uv__calloc",
            "uv__realloc",
            "uv__strdup",
            "node::Malloc*",
            "node::UncheckedMalloc*",
            "v8::internal::AllocWithRetry",
            "v8::internal::AlignedAlloc*",
        ],
    ),
    (
        "GCC, LLVM, binutils",
        &[
            "ggc_internal_*alloc",
            "ggc_internal_alloc*",
            "ggc_internal_cleared_alloc*",
            "ggc_realloc",
            "bfd_malloc*",
            "bfd_zmalloc*",
            "bfd_realloc*",
            "bfd_alloc*",
            "bfd_zalloc*",
            "_objalloc_alloc",
            "llvm::safe_malloc",
            "llvm::safe_calloc",
            "llvm::safe_realloc",
            "llvm::allocate_buffer",
        ],
    ),
    ("Qt", &["QArrayData::allocate*", "QArrayData::reallocate*", "QListData::realloc*"]),
    (
        "C++",
        &[
            "std::__new_allocator<*",
            "__gnu_cxx::new_allocator<*",
            "std::allocator_traits<*",
            "std::_Vector_base<*",
        ],
    ),
    ("Rust", &["alloc::alloc::*", "alloc::raw_vec::*", "<alloc::alloc::Global*"]),
    ("Vim, git", &["lalloc", "alloc_clear", "git__malloc", "git__calloc", "git__realloc"]),
];

/// Whether a name is in the table, or is that of a class's own `operator new`.
#[must_use]
pub fn is_known(name: &str) -> bool {
    // Without its arguments, and without what compilers add to a part of a function.
    let bare = without_arguments(name);
    let bare = bare.split(['@', '.']).next().unwrap_or_default();
    if ["::operator new", "::operator new[]"].iter().any(|new| bare.ends_with(new)) {
        return true;
    }
    let is_it = |known: &&str| match known.split_once('*') {
        Some((begin, end)) => {
            bare.len() >= begin.len() + end.len() && bare.starts_with(begin) && bare.ends_with(end)
        }
        None => bare == *known,
    };
    KNOWN.iter().any(|(_, names)| names.iter().any(is_it))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_known_without_their_arguments_and_suffixes() {
        for name in [
            "xmalloc",
            "Perl_safesysmalloc",
            "ngx_palloc_block.isra.0",
            "os::malloc(unsigned long, MEMFLAGS, NativeCallStack const&)",
            "sqlite3Malloc",
            "CRYPTO_secure_zalloc",
            "g_malloc0",
            "AnyObj::operator new(unsigned long, MEMFLAGS)",
            "alloc::raw_vec::RawVec<T,A>::grow_one",
        ] {
            assert!(is_known(name), "{name}");
        }
        for name in ["main", "parse_xmalloc", "ngx_create_pool", "allocate_tables", "operator news", ""] {
            assert!(!is_known(name), "{name}");
        }
    }

    #[test]
    fn a_name_is_in_the_table_once() {
        let all: Vec<&&str> = KNOWN.iter().flat_map(|(_, names)| names.iter()).collect();
        let different: HashSet<&&str> = all.iter().copied().collect();
        assert_eq!(all.len(), different.len());
    }
}
