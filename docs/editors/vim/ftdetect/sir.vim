autocmd BufRead,BufNewFile *.sir setfiletype sir
