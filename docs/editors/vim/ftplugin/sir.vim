" Settings for .sir files: comments, and :make with scaly-opt.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s comments=:// iskeyword+=%,@-@,#,.,$
setlocal makeprg=scaly-opt\ %:S\ -o\ /dev/null errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %tote:\ %m,%-G%.%#
let b:undo_ftplugin = "setlocal commentstring< comments< iskeyword< makeprg< errorformat<"
