-- Functions of rille.apex itself.
return {
  -- Whether this is there: always, in every build.
  --: -> boolean
  available = function() return true end,
}
