" Highlighting of .sir files, for Vim and Neovim.
if exists("b:current_syntax")
  finish
endif

syntax match sirOperation /\<\h\w*\.\h[A-Za-z0-9_.]*/
syntax match sirStructure /\<\h\w*\.\(module\|func\|proc\|region\|for\|if\|call\|return\|yield\)\>/
syntax match sirFunction /@\(\h[A-Za-z0-9_.$-]*\|"\([^"\\]\|\\.\)*"\)/
syntax match sirValue /%\(\h[A-Za-z0-9_.$-]*\|\d\+\|"\([^"\\]\|\\.\)*"\)/
syntax match sirAlias /#\h\w*/
syntax match sirLabel /\^\h\w*/
syntax match sirNumber /-\?\(\<\d\+\(\.\d*\)\?\|\.\d\+\)\([eE][+-]\?\d\+\)\?/
syntax match sirNumber /-\?\<\(inf\|nan\|0x\x\+\)\>/
syntax match sirNumber /\<nan<0x\x\+>/
syntax match sirKey /\<\h[A-Za-z0-9_.$-]*\ze\s*=/
syntax keyword sirConstant True False None undef
syntax keyword sirKeyword to step offset slice loc diff private floordiv ceildiv mod
syntax match sirKeyword /\<\(iter\|init\)\ze\s*(/
syntax match sirType /\<\(tensor\|memref\|vector\|sparse\|dense\|splat\|elided\|affine_map\)\ze\s*</
syntax match sirType /\<\(\d\+x\)*\(\(float\|u\?int\|bfloat\|complex\)\d\+\|bool\)\>/
syntax match sirType /: \zsindex\>/
syntax region sirString start=/"/ skip=/\\./ end=/"/ oneline
syntax match sirComment /\/\/.*/ contains=sirDirective,sirRegex,sirCapture,@Spell
syntax match sirDirective /\<\u[A-Z0-9_-]*\({LITERAL}\)\?:/ contained
syntax match sirDirective /\<expected-\(error\|warning\|note\|remark\)\(-re\)\?\(@[+-]\?\w\+\)\?/ contained
syntax match sirRegex /{{.\{-}}}/ contained
syntax match sirCapture /\[\[.\{-}\]\]/ contained

highlight default link sirOperation Identifier
highlight default link sirStructure Statement
highlight default link sirFunction Function
highlight default link sirValue Special
highlight default link sirAlias Constant
highlight default link sirLabel Label
highlight default link sirNumber Number
highlight default link sirKey Label
highlight default link sirConstant Boolean
highlight default link sirKeyword Keyword
highlight default link sirType Type
highlight default link sirString String
highlight default link sirComment Comment
highlight default link sirDirective PreProc
highlight default link sirRegex String
highlight default link sirCapture Special

let b:current_syntax = "sir"
