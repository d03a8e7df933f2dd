# cmake --install: the program, librille with its headers, and how other projects find it. The tree
# may be moved afterwards: nothing in it names the prefix.
include(CMakePackageConfigHelpers)

install(TARGETS rille_program RUNTIME DESTINATION bin)
install(TARGETS librille EXPORT rilleTargets LIBRARY DESTINATION lib)
install(DIRECTORY
  ${PROJECT_SOURCE_DIR}/interpreter/include/rille ${PROJECT_BINARY_DIR}/include/rille
  DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package_folder lib/cmake/rille)
install(EXPORT rilleTargets NAMESPACE rille:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/rilleConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/rilleConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rilleConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/rilleConfig.cmake
  ${PROJECT_BINARY_DIR}/package/rilleConfigVersion.cmake DESTINATION ${package_folder})
configure_file(${PROJECT_SOURCE_DIR}/cmake/package/rille.pc.in
  ${PROJECT_BINARY_DIR}/package/rille.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/rille.pc DESTINATION lib/pkgconfig)

# Licences: ours, and of what is inside of the files above.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/rille)
if(RILLE_LUA_ARCHIVE)
  install(FILES /usr/share/doc/liblua5.4-dev/copyright DESTINATION share/doc/rille
    RENAME copyright-lua OPTIONAL)
endif()
if(RILLE_ONEDNN STREQUAL "wheel" AND dnnl_FOUND)
  install(FILES ${dnnl_DIR}/../../../share/doc/onednn/LICENSE
    ${dnnl_DIR}/../../../share/doc/onednn/THIRD-PARTY-PROGRAMS
    DESTINATION share/doc/rille/onednn)
endif()
